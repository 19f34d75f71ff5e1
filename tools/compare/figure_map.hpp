// Numbers by name, of which a run of many rounds has many: 16 bytes each, since all maps share the names.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace furlong::tools {

/// Ascending by name, with the interface of a std::map<std::string, double> as far as it is used. Not thread-safe while
/// it is changed; maps of different threads share only their names, which are.
class figure_map {
 public:
  /// A figure as it is read. `first` lives as long as the program.
  struct entry {
    const std::string& first;
    double second;
  };
  class iterator {
   public:
    using value_type = entry;
    using difference_type = std::ptrdiff_t;
    using base = std::vector<std::pair<const std::string*, double>>::const_iterator;
    iterator() = default;
    explicit iterator(base at) : at_(at) {}
    entry operator*() const { return {*at_->first, at_->second}; }
    struct pointer {
      entry of;
      const entry* operator->() const { return &of; }
    };
    pointer operator->() const { return {**this}; }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    iterator operator++(int) { return iterator(at_++); }
    friend bool operator==(const iterator&, const iterator&) = default;

   private:
    base at_;
  };

  figure_map() = default;
  figure_map(std::initializer_list<std::pair<std::string_view, double>> figures) {
    for (const auto& [name, value] : figures) (*this)[name] = value;
  }

  /// 0 if it is new.
  double& operator[](std::string_view name);
  [[nodiscard]] iterator find(std::string_view name) const;
  [[nodiscard]] iterator lower_bound(std::string_view name) const;
  [[nodiscard]] iterator begin() const { return iterator(figures_.begin()); }
  [[nodiscard]] iterator end() const { return iterator(figures_.end()); }
  /// Gives back memory for figures to come.
  void shrink_to_fit() { figures_.shrink_to_fit(); }

 private:
  std::vector<std::pair<const std::string*, double>> figures_;
};

}  // namespace furlong::tools
