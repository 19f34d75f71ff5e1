// Nothing: its target has the headers that tests share, precompiled.
