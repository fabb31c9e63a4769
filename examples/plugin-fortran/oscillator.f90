! A plug-in in Fortran: a damped oscillator, with its exact solution and Jacobian.
!
!   gfortran -O2 -ffp-contract=off -shared -fPIC oscillator.f90 -o oscillator.so
!   popflow run ./oscillator.so --damping 0.2
!   popflow verify ./oscillator.so
module oscillator
  use, intrinsic :: iso_c_binding
  implicit none
  character(kind=c_char, len=*), parameter :: words = &
    '{"name": "oscillator", "title": "a damped oscillator", "source": "textbook example",' // &
    ' "equations": "dx/dt = v, dv/dt = -x - 2 damping v",' // &
    ' "parameters": [{"name": "damping", "default": 0.1, "low": 0, "high": 1,' // &
    '                 "high_open": true, "meaning": "half the friction"}],' // &
    ' "fields": [{"name": "x", "meaning": "position"}, {"name": "v", "meaning": "velocity"}],' // &
    ' "observables": [{"name": "energy", "meaning": "energy", "floor": 1e-16}],' // &
    ' "end": 20}' // c_null_char
  character(kind=c_char, len=len(words)), save, target :: description = words

  ! The table of popflow/plugin.h. A null pointer is a function that the system lacks.
  type, bind(c) :: table_type
    integer(c_int32_t) :: abi = 1, bytes = 0
    type(c_ptr) :: description
    type(c_funptr) :: create, destroy, start, rate
    type(c_funptr) :: loss = c_null_funptr, precondition = c_null_funptr
    type(c_funptr) :: observe
    type(c_funptr) :: others(5) = c_null_funptr  ! events, passages, derived, constants, array
    type(c_funptr) :: jacobian, solution
    type(c_funptr) :: rest(7) = c_null_funptr    ! samples, covariance, lanes
  end type
  type, bind(c) :: request_type
    type(c_ptr) :: parameters, arrays
  end type
  type(table_type), save, target :: table

contains

  type(c_ptr) function create(request, message, room) bind(c)
    type(request_type), intent(in) :: request
    type(c_ptr), value :: message
    integer(c_size_t), value :: room
    real(c_double), pointer :: given, made
    call c_f_pointer(request%parameters, given)
    allocate(made)
    made = given
    create = c_loc(made)
  end function
  subroutine destroy(made) bind(c)
    type(c_ptr), value :: made
    real(c_double), pointer :: damping
    call c_f_pointer(made, damping)
    deallocate(damping)
  end subroutine
  integer(c_int) function start(damping, x) bind(c)
    real(c_double), intent(in) :: damping
    real(c_double), intent(out) :: x(2)
    x = [1.0_c_double, 0.0_c_double]
    start = 0
  end function
  integer(c_int) function rate(damping, x, t, dxdt) bind(c)
    real(c_double), intent(in) :: damping, x(2)
    real(c_double), value :: t
    real(c_double), intent(out) :: dxdt(2)
    dxdt = [x(2), -x(1) - 2 * damping * x(2)]
    rate = 0
  end function
  integer(c_int) function observe(damping, x, t, energy) bind(c)
    real(c_double), intent(in) :: damping, x(2)
    real(c_double), value :: t
    real(c_double), intent(out) :: energy
    energy = (x(1)**2 + x(2)**2) / 2
    observe = 0
  end function
  integer(c_int) function jacobian(damping, x, j) bind(c)
    real(c_double), intent(in) :: damping, x(2)
    real(c_double), intent(out) :: j(4)  ! row-major
    j = [0.0_c_double, 1.0_c_double, -1.0_c_double, -2 * damping]
    jacobian = 0
  end function
  integer(c_int) function solution(damping, t, x) bind(c)
    real(c_double), intent(in) :: damping
    real(c_double), value :: t
    real(c_double), intent(out) :: x(2)
    real(c_double) :: w
    w = sqrt(1 - damping**2)
    x = exp(-damping * t) * [cos(w * t) + damping / w * sin(w * t), -sin(w * t) / w]
    solution = 0
  end function

  type(c_ptr) function popflow_plugin() bind(c)
    table%bytes = int(c_sizeof(table), c_int32_t)
    table%description = c_loc(description)
    table%create = c_funloc(create); table%destroy = c_funloc(destroy)
    table%start = c_funloc(start); table%rate = c_funloc(rate)
    table%observe = c_funloc(observe); table%jacobian = c_funloc(jacobian)
    table%solution = c_funloc(solution)
    popflow_plugin = c_loc(table)
  end function
end module
