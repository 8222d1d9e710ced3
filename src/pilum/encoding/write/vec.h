// A growing array of plain numbers: like std::vector, but what resize adds is not cleared, growing copies whole blocks,
// and large blocks are memory used before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "pilum/encoding/write/recycle.h"

namespace pilum::write {

template <typename T>
class Vec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Vec() = default;
  explicit Vec(size_t n) { resize(n); }
  Vec(size_t n, T v) { assign(n, v); }
  Vec(const Vec& other) { append(other.data_, other.size_); }
  Vec(Vec&& other) noexcept { swap(other); }
  Vec& operator=(Vec other) noexcept {
    swap(other);
    return *this;
  }
  ~Vec() { Free(data_, capacity_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(size_t n) {
    if (n > capacity_) Move(n);
  }
  void resize(size_t n) {  // what is new holds anything
    Room(n);
    size_ = n;
  }
  void resize(size_t n, T v) {
    const size_t from = std::min(size_, n);
    resize(n);
    std::fill(begin() + from, end(), v);
  }
  void push_back(T v) {
    Room(size_ + 1);
    data_[size_++] = v;
  }
  void append(const T* from, size_t n) {
    Room(size_ + n);
    if (n) std::memcpy(data_ + size_, from, n * sizeof(T));
    size_ += n;
  }
  void assign(size_t n, T v) {
    resize(n);
    std::fill(begin(), end(), v);
  }
  void assign(const T* first, const T* last) {
    clear();
    append(first, static_cast<size_t>(last - first));
  }
  void DropFront(size_t n) {
    size_ -= n;
    if (size_) std::memmove(data_, data_ + n, size_ * sizeof(T));
  }
  void swap(Vec& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  void Room(size_t n) {
    if (n > capacity_) Move(std::max(n, 2 * capacity_));
  }
  void Move(size_t capacity) {
    if (capacity > SIZE_MAX / 4 / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = capacity * sizeof(T);
    T* fresh;
    if (capacity_ * sizeof(T) >= kLargeBlock) {
      fresh = static_cast<T*>(GrowBlock(data_, bytes));
    } else {
      fresh = static_cast<T*>(bytes < kLargeBlock ? ::operator new(bytes) : TakeBlock(bytes));
      if (size_) std::memcpy(fresh, data_, size_ * sizeof(T));
      Free(data_, capacity_);
    }
    data_ = fresh;
    capacity_ = capacity;
  }
  static void Free(T* p, size_t capacity) noexcept {
    if (capacity * sizeof(T) < kLargeBlock)
      ::operator delete(p);
    else
      GiveBlock(p);
  }

  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

using Bytes = Vec<uint8_t>;

}  // namespace pilum::write
