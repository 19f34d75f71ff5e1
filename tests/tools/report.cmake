# The report; included by tests/tools/CMakeLists.txt.
furlong_test(report SOURCES report_embeddings_test.cpp report_test.cpp report_texts_test.cpp report_plot_test.cpp report_bars_test.cpp report_time_test.cpp report_clients_test.cpp report_privacy_test.cpp configurations_test.cpp comparable_test.cpp
             DEPENDS Furlong::report LABELS quick)
