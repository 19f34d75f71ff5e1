// A value behind a pointer, so that a header can hold one whose type it only declares.
#pragma once

#include <memory>
#include <utility>

namespace furlong {

/// Owns one T. Copies copy it; const reaches it. T must be complete where a box is made of a value, and where it is
/// used; copying, moving and destroying a box need only its declaration. A box that was moved from is empty: it may
/// only be assigned to or destroyed.
template <class T>
class box {
 public:
  box() : box(T()) {}
  box(T value)
      : value_(std::make_shared<T>(std::move(value))),
        copy_([](const T& original) { return std::make_shared<T>(original); }) {}
  box(const box& source) : value_(source.copy_(*source.value_)), copy_(source.copy_) {}
  box(box&&) noexcept = default;
  box& operator=(const box& source) { return *this = box(source); }
  box& operator=(box&&) noexcept = default;
  ~box() = default;

  [[nodiscard]] T& operator*() { return *value_; }
  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] T* operator->() { return value_.get(); }
  [[nodiscard]] const T* operator->() const { return value_.get(); }

 private:
  std::shared_ptr<T> value_;  // of one owner: unlike std::unique_ptr it destroys a T that is only declared here
  std::shared_ptr<T> (*copy_)(const T&);
};

}  // namespace furlong
