# Toolchain for ARM64 (Debian's g++-aarch64-linux-gnu) against a root made by tools/ship/sysroot.py outside the sources:
#   cmake --preset release -B build/arm64 -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DFURLONG_SYSROOT=/tmp/arm64-root
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FURLONG_SYSROOT)
get_filename_component(CMAKE_SYSROOT "${FURLONG_SYSROOT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_LIST_DIR}/..")
set(CMAKE_FIND_ROOT_PATH "${CMAKE_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)  # capnp and python3 run here
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "${CMAKE_SYSROOT}")
