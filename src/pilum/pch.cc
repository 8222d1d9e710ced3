#include "pilum/pch.h"
