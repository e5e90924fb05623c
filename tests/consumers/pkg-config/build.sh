cc -std=c99 example.c $(pkg-config --cflags --libs ct3d) -o example-c
c++ -std=c++17 example.cpp $(pkg-config --cflags --libs ct3d) -o example-cpp
