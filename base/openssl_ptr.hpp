// OpenSSL's objects, owned.
#pragma once

#include <memory>

namespace furlong {

template <auto Free>
struct openssl_free {
  template <class Object>
  void operator()(Object* object) const {
    Free(object);
  }
};
/// Free is OpenSSL's function that frees an Object.
template <class Object, auto Free>
using openssl_ptr = std::unique_ptr<Object, openssl_free<Free>>;

}  // namespace furlong
