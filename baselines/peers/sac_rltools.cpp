// SAC on Pendulum by RLtools 2.2.1, as a library that sac_rltools.py calls. Sizes are constants of the compiler, as in
// all that RLtools compiles: FORGE_HIDDEN, FORGE_BATCH and FORGE_LEARNING_STARTS are given with -D. With FORGE_ZOO all
// other constants are those of RLtools' zoo (pendulum-v1/sac.h), else the reference's.
//
// RLtools plays, learns and draws. The environment is Gymnasium's Pendulum-v1, in f64 and with NumPy's generator: the
// same seed and torques give the same states to the bit. For that it is compiled with -ffp-contract=off. A reward may
// differ in its last digit, because NumPy's squares are not always the rounded products.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#define RL_TOOLS_BACKEND_ENABLE_OPENBLAS
// The package's own names of OpenBLAS's functions.
#define cblas_sgemm scipy_cblas_sgemm
#define cblas_dgemm scipy_cblas_dgemm
#include <rl_tools/operations/cpu_mux.h>
#include <rl_tools/rl/environments/operations_generic.h>

namespace {

namespace rlt = rl_tools;

using Device = rlt::devices::DEVICE_FACTORY<>;
using Random = Device::SPEC::RANDOM::ENGINE<>;
using Index = Device::index_t;
using Types = rlt::numeric_types::Policy<float>;

constexpr double PI = 3.14159265358979323846;
constexpr float MAX_TORQUE = 2;
constexpr double MAX_SPEED = 8;
constexpr double DT = 0.05;
constexpr double GRAVITY = 3 * 10.0 / (2 * 1.0);

// NumPy's PCG64.
struct Generator {
    unsigned __int128 state, increment;

    double uniform(double low, double high) {
        constexpr auto multiplier = static_cast<unsigned __int128>(0x2360ED051FC65DA4) << 64 | 0x4385DF649FCCF645;
        state = state * multiplier + increment;
        const auto word = static_cast<std::uint64_t>(state >> 64) ^ static_cast<std::uint64_t>(state);
        const auto turns = static_cast<unsigned>(state >> 122);
        const auto turned = word >> turns | word << ((64 - turns) & 63);
        return low + (high - low) * (static_cast<double>(turned >> 11) * 0x1p-53);
    }
};

// What was done in the environment: all that a referee needs to play it again, and the rewards.
struct Journal {
    Generator generator;
    std::vector<float> torques;
    std::vector<double> rewards;
    std::vector<std::int64_t> resets;
};

struct Pendulum : rlt::rl::environments::Environment<float, Index> {
    struct State {
        static constexpr Index DIM = 2;
        double angle, speed;
    };
    struct Parameters {};
    struct Observation {
        static constexpr Index DIM = 3;
    };
    using T = float;
    using TI = Index;
    using ObservationPrivileged = Observation;
    static constexpr Index ACTION_DIM = 1;
    static constexpr Index EPISODE_STEP_LIMIT = 200;

    Journal* journal;
};

// Policies give numbers from -1 to 1.
template <typename Action>
float torque_of(const Action& action) {
    const float torque = MAX_TORQUE * rlt::get(action, 0, 0);
    return torque < -MAX_TORQUE ? -MAX_TORQUE : torque > MAX_TORQUE ? MAX_TORQUE : torque;
}

}  // namespace

// What RLtools asks of an environment. It must be declared before what calls it.
namespace rl_tools {

inline void malloc(Device&, const Pendulum&) {}
inline void free(Device&, const Pendulum&) {}
inline void init(Device&, const Pendulum&) {}
inline void initial_parameters(Device&, const Pendulum&, Pendulum::Parameters&) {}
inline void sample_initial_parameters(Device&, const Pendulum&, Pendulum::Parameters&, Random&) {}

inline void sample_initial_state(
    Device&, const Pendulum& pendulum, const Pendulum::Parameters&, Pendulum::State& state, Random&) {
    Journal& journal = *pendulum.journal;
    journal.resets.push_back(static_cast<std::int64_t>(journal.torques.size()));
    state.angle = journal.generator.uniform(-PI, PI);
    state.speed = journal.generator.uniform(-1, 1);
}

template <typename Action>
float step(Device&, const Pendulum& pendulum, const Pendulum::Parameters&, const Pendulum::State& state,
    const Action& action, Pendulum::State& next, Random&) {
    const float torque = torque_of(action);
    pendulum.journal->torques.push_back(torque);
    // What NumPy computes of the torque alone is f32.
    const double acceleration = GRAVITY * std::sin(state.angle) + static_cast<double>(3.0F * torque);
    next.speed = std::fmin(std::fmax(state.speed + acceleration * DT, -MAX_SPEED), MAX_SPEED);
    next.angle = state.angle + next.speed * DT;
    return static_cast<float>(DT);
}

template <typename Action>
float reward(Device&, const Pendulum& pendulum, const Pendulum::Parameters&, const Pendulum::State& state,
    const Action& action, const Pendulum::State&, Random&) {
    const float torque = torque_of(action);
    // The remainder has the divisor's sign, as in Python.
    double turned = std::fmod(state.angle + PI, 2 * PI);
    if (turned < 0) turned += 2 * PI;
    const double from_upright = turned - PI;
    const double cost = from_upright * from_upright + 0.1 * (state.speed * state.speed)
        + static_cast<double>(0.001F * (torque * torque));
    pendulum.journal->rewards.push_back(-cost);
    return static_cast<float>(-cost);
}

template <typename Row>
void observe(Device&, const Pendulum&, const Pendulum::Parameters&, const Pendulum::State& state,
    const Pendulum::Observation&, Row& row, Random&) {
    set(row, 0, 0, static_cast<float>(std::cos(state.angle)));
    set(row, 0, 1, static_cast<float>(std::sin(state.angle)));
    set(row, 0, 2, static_cast<float>(state.speed));
}

inline bool terminated(Device&, const Pendulum&, const Pendulum::Parameters&, const Pendulum::State&, Random&) {
    return false;
}

}  // namespace rl_tools

#include <rl_tools/nn/optimizers/adam/instance/operations_generic.h>
#include <rl_tools/nn/operations_cpu_mux.h>
#include <rl_tools/nn/layers/sample_and_squash/operations_generic.h>
#include <rl_tools/nn_models/mlp/operations_generic.h>
#include <rl_tools/nn_models/sequential/operations_generic.h>
#include <rl_tools/nn_models/random_uniform/operations_generic.h>
#include <rl_tools/nn/optimizers/adam/operations_generic.h>
#include <rl_tools/rl/algorithms/sac/loop/core/config.h>
#include <rl_tools/rl/algorithms/sac/loop/core/operations_generic.h>

namespace {

// RLtools' own SAC with the constants of the reference, as far as it has them; or with those that it has by itself. (The
// zoo's file names a first temperature of 1 where nothing reads it: what runs there is RLtools' own, 0.5.)
struct Sizes : rlt::rl::algorithms::sac::loop::core::DefaultParameters<Types, Index, Pendulum> {
    struct SAC_PARAMETERS : rlt::rl::algorithms::sac::DefaultParameters<Types, Index, Pendulum::ACTION_DIM> {
        static constexpr Index ACTOR_BATCH_SIZE = FORGE_BATCH;
        static constexpr Index CRITIC_BATCH_SIZE = FORGE_BATCH;
#ifndef FORGE_ZOO
        static constexpr float ALPHA = 1;
        static constexpr float LOG_STD_LOWER_BOUND = -5;
#endif
    };
    static constexpr Index N_WARMUP_STEPS = FORGE_LEARNING_STARTS;
    // The step after that at which the actor takes over.
    static constexpr Index N_WARMUP_STEPS_CRITIC = FORGE_LEARNING_STARTS + 1;
    static constexpr Index N_WARMUP_STEPS_ACTOR = FORGE_LEARNING_STARTS + 1;
    // The caller counts the steps.
    static constexpr Index STEP_LIMIT = static_cast<Index>(1) << 40;
#ifdef FORGE_ZOO
    static constexpr Index REPLAY_BUFFER_CAP = 20'000;
#else
    static constexpr Index REPLAY_BUFFER_CAP = 1'000'000;
#endif
    static constexpr Index ACTOR_HIDDEN_DIM = FORGE_HIDDEN;
    static constexpr Index CRITIC_HIDDEN_DIM = FORGE_HIDDEN;
    static constexpr bool COLLECT_EPISODE_STATS = false;

#ifndef FORGE_ZOO
    struct Adam : rlt::nn::optimizers::adam::DEFAULT_PARAMETERS_PYTORCH<Types> {
        static constexpr float EPSILON_SQRT = 0;
    };
    struct ACTOR_OPTIMIZER_PARAMETERS : Adam {
        static constexpr float ALPHA = 3e-4;
    };
    using CRITIC_OPTIMIZER_PARAMETERS = Adam;
    using ALPHA_OPTIMIZER_PARAMETERS = Adam;
#endif
};
using Config = rlt::rl::algorithms::sac::loop::core::Config<Types, Index, Random, Pendulum, Sizes>;

struct Training {
    Device device;
    Journal journal;
    typename Config::template State<Config> state;
};

template <typename Layer>
float* copied(Device& device, Layer& layer, float* to) {
    const auto weights = rlt::matrix_view(device, layer.weights.parameters);
    const auto biases = rlt::matrix_view(device, layer.biases.parameters);
    for (Index row = 0; row < weights.ROWS; row++)
        for (Index column = 0; column < weights.COLS; column++) *to++ = rlt::get(weights, row, column);
    for (Index column = 0; column < biases.COLS; column++) *to++ = rlt::get(biases, 0, column);
    return to;
}

}  // namespace

extern "C" {

// A training before its first step; `generator` is the environment's, upper and lower half of its state and increment.
Training* training_new(std::uint64_t seed, const std::uint64_t* generator, std::int64_t steps) {
    auto* training = new Training;
    const auto whole = [](const std::uint64_t* half) {
        return static_cast<unsigned __int128>(half[0]) << 64 | half[1];
    };
    training->journal.generator = {whole(generator), whole(generator + 2)};
    training->journal.torques.reserve(static_cast<std::size_t>(steps));
    training->journal.rewards.reserve(static_cast<std::size_t>(steps));
    rlt::malloc(training->device, training->state);
    rlt::get(training->state.off_policy_runner.envs, 0, 0).journal = &training->journal;
    rlt::init(training->device, training->state, static_cast<Index>(seed));
    return training;
}

void training_run(Training* training, std::int64_t steps) {
    for (std::int64_t step = 0; step < steps; step++) rlt::step(training->device, training->state);
}

// How many steps the optimiser of the first critic took.
std::int64_t training_updates(Training* training) {
    auto& optimizer = training->state.actor_critic.critic_optimizers[0];
    // Its age begins with 1.
    return static_cast<std::int64_t>(rlt::get(training->device, optimizer.age, 0)) - 1;
}

std::int64_t training_resets(const Training* training) {
    return static_cast<std::int64_t>(training->journal.resets.size());
}

void training_journal(const Training* training, float* torques, double* rewards, std::int64_t* resets) {
    const Journal& journal = training->journal;
    std::copy(journal.torques.begin(), journal.torques.end(), torques);
    std::copy(journal.rewards.begin(), journal.rewards.end(), rewards);
    std::copy(journal.resets.begin(), journal.resets.end(), resets);
}

// The actor's layers, each as weights (outputs, inputs) and biases. The last one gives mean and deviation.
void training_actor(Training* training, float* to) {
    auto& network = training->state.actor_critic.actor.content;
    to = copied(training->device, network.input_layer, to);
    for (auto& layer : network.hidden_layers) to = copied(training->device, layer, to);
    copied(training->device, network.output_layer, to);
}

void training_free(Training* training) {
    rlt::free(training->device, training->state);
    delete training;
}

}
