/* A plug-in in C: gradient flow in a double well, and its sampled training.
 *
 *   gcc -O2 -ffp-contract=off -shared -fPIC -I ../../include double-well.c -o double-well.so
 *   popflow run ./double-well.so --tilt 0.1
 *   popflow verify ./double-well.so
 *
 * A sample is a standard normal xi; its loss is (x^2 - 1)^2 / 4 - (tilt + scatter xi) x. */

#include <popflow/plugin.h>
#include <stdlib.h>

static const char description[] =
    "{\"name\": \"double-well\","
    " \"title\": \"gradient flow in a double well with a random tilt\","
    " \"source\": \"textbook example\","
    " \"equations\": \"dx/dt = x - x^3 + tilt\","
    " \"parameters\": ["
    "  {\"name\": \"tilt\", \"default\": 0.0, \"meaning\": \"mean tilt of the wells\"},"
    "  {\"name\": \"scatter\", \"default\": 1.0, \"low\": 0, \"meaning\": \"standard deviation of the tilt\"},"
    "  {\"name\": \"x0\", \"default\": 0.1, \"meaning\": \"start\"}],"
    " \"fields\": [{\"name\": \"x\", \"meaning\": \"position\"}],"
    " \"observables\": [{\"name\": \"height\", \"meaning\": \"height of the wells at x\","
    "                    \"floor\": 1e-16}],"
    " \"events\": [{\"name\": \"halfway\", \"meaning\": \"x is 1/2\"}],"
    " \"loss\": true, \"end\": 20}";

struct problem {
  double tilt, scatter, start;
};

static void* create(const popflow_request* request, char* message, size_t room) {
  struct problem* made = malloc(sizeof *made);
  (void)message;
  (void)room;
  if (made == NULL) return NULL;
  made->tilt = request->parameters[0];
  made->scatter = request->parameters[1];
  made->start = request->parameters[2];
  return made;
}

static int start(const void* problem, double* x) {
  x[0] = ((const struct problem*)problem)->start;
  return 0;
}

static double slope(double tilt, double x) { return x - x * x * x + tilt; }

static int rate(const void* problem, const double* x, double t, double* dxdt) {
  (void)t;
  dxdt[0] = slope(((const struct problem*)problem)->tilt, x[0]);
  return 0;
}

static int height(const void* problem, const double* x, double t, double* values) {
  const double well = x[0] * x[0] - 1;
  (void)problem;
  (void)t;
  values[0] = well * well / 4;
  return 0;
}

static int loss(const void* problem, const double* x, double t, double* value) {
  (void)height(problem, x, t, value);
  *value -= ((const struct problem*)problem)->tilt * x[0];
  return 0;
}

static int events(const void* problem, const double* x, double t, double* values) {
  (void)problem;
  (void)t;
  values[0] = x[0] - 0.5;
  return 0;
}

static int add_samples(const void* problem, const double* x, double t, size_t count,
                       const popflow_random* random, const double* weights, double* out) {
  const struct problem* of = problem;
  (void)t;
  for (size_t i = 0; i < count; ++i)
    out[0] += weights[i] * slope(of->tilt + of->scatter * random[i].normal(random[i].stream), x[0]);
  return 0;
}

static int covariance(const void* problem, const double* x, double* c) {
  const double scatter = ((const struct problem*)problem)->scatter;
  (void)x;
  c[0] = scatter * scatter;
  return 0;
}

static const popflow_table table = {
    .abi = POPFLOW_PLUGIN_ABI, .bytes = sizeof(popflow_table), .description = description,
    .create = create, .destroy = free, .start = start, .rate = rate, .loss = loss,
    .observe = height, .events = events, .add_samples = add_samples, .covariance = covariance};

const popflow_table* popflow_plugin(void) { return &table; }
