// QuantLib's closed form and its QdFp engine without Python in between, timed: reads contracts with the columns of
// golden/ (no dividends), writes their values to standard output as CSV and `ns,<processor time a contract>` last.
//
//     quantlib black FILE      BlackCalculator: value, delta, gamma, theta, vega, rho, dividend rho
//     quantlib fast FILE       QdFpAmericanEngine, fast scheme: value; also `accurate`, `high`
//
// Needs QuantLib's headers and library, built with high-resolution dates where times are no whole days.

#include <ctime>
#include <fstream>
#include <iostream>
#include <numeric>
#include <ql/exercise.hpp>
#include <ql/instruments/vanillaoption.hpp>
#include <ql/pricingengines/blackcalculator.hpp>
#include <ql/pricingengines/vanilla/qdfpamericanengine.hpp>
#include <ql/quotes/simplequote.hpp>
#include <ql/termstructures/volatility/equityfx/blackconstantvol.hpp>
#include <ql/termstructures/yield/flatforward.hpp>
#include <ql/time/calendars/nullcalendar.hpp>
#include <ql/time/daycounters/actual365fixed.hpp>
#include <sstream>

using namespace QuantLib;

struct Contract {
    std::string id;
    bool call;
    double s, k, t, r, b, sigma;
};

static std::vector<Contract> read(const char* path) {
    std::ifstream in(path);
    std::string line, cell;
    std::getline(in, line);
    std::vector<Contract> contracts;
    while (std::getline(in, line)) {
        std::istringstream cells(line);
        std::vector<std::string> row;
        while (std::getline(cells, cell, ',')) row.push_back(cell);
        auto number = [&](int i) { return std::stod(row.at(i)); };
        const bool call = row.at(2) == "call";
        contracts.push_back({row.at(0), call, number(3), number(4), number(5), number(6), number(7), number(8)});
    }
    return contracts;
}

static std::array<double, 7> black(const Contract& o) {
    const double df = std::exp(-o.r * o.t), fwd = o.s * std::exp((o.r - o.b) * o.t);
    BlackCalculator c(o.call ? Option::Call : Option::Put, o.k, fwd, o.sigma * std::sqrt(o.t), df);
    return {c.value(),         c.delta(o.s), c.gamma(o.s), c.vega(o.t) / 100, c.theta(o.s, o.t) / 365,
            c.rho(o.t) / 100, c.dividendRho(o.t) / 100};
}

/// One option that is moved from contract to contract through its quotes.
struct Qdfp {
    Date today = Date(20, November, 2026);
    ext::shared_ptr<SimpleQuote> s = quote(100), r = quote(0), b = quote(0), sigma = quote(0.2);
    ext::shared_ptr<PricingEngine> engine;

    static ext::shared_ptr<SimpleQuote> quote(double value) { return ext::make_shared<SimpleQuote>(value); }

    explicit Qdfp(const std::string& scheme) {
        Settings::instance().evaluationDate() = today;
        const Actual365Fixed days;
        auto curve = [&](const ext::shared_ptr<SimpleQuote>& rate) {
            return Handle<YieldTermStructure>(ext::make_shared<FlatForward>(today, Handle<Quote>(rate), days));
        };
        Handle<BlackVolTermStructure> vol(
            ext::make_shared<BlackConstantVol>(today, NullCalendar(), Handle<Quote>(sigma), days));
        auto process = ext::make_shared<BlackScholesMertonProcess>(Handle<Quote>(s), curve(b), curve(r), vol);
        auto with = scheme == "fast"       ? QdFpAmericanEngine::fastScheme()
                    : scheme == "accurate" ? QdFpAmericanEngine::accurateScheme()
                                           : QdFpAmericanEngine::highPrecisionScheme();
        engine = ext::make_shared<QdFpAmericanEngine>(process, with);
    }
    double value(const Contract& o) {
        s->setValue(o.s), r->setValue(o.r), b->setValue(o.b), sigma->setValue(o.sigma);
        auto payoff = ext::make_shared<PlainVanillaPayoff>(o.call ? Option::Call : Option::Put, o.k);
        VanillaOption option(payoff, ext::make_shared<AmericanExercise>(today, today + std::lround(o.t * 365)));
        option.setPricingEngine(engine);
        return option.NPV();
    }
};

/// Nanoseconds of processor time a contract, the best of several rounds; keeps a sum so that nothing is left out.
template <class F> static double best(const std::vector<Contract>& contracts, F value) {
    double least = 1e30, kept = 0;
    for (int round = 0; round < 7; ++round) {
        const std::clock_t began = std::clock();
        long n = 0;
        do {
            for (const auto& o : contracts) kept += value(o);
            n += static_cast<long>(contracts.size());
        } while (std::clock() - began < CLOCKS_PER_SEC / 20);
        least = std::min(least, 1e9 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC / n);
    }
    return kept == 0.5 ? -least : least;
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::string what = argv[1];
    const auto contracts = read(argv[2]);
    std::cout.precision(17);
    double ns;
    if (what == "black") {
        std::cout << "id,price,delta,gamma,vega,theta,rho,epsilon\n";
        for (const auto& o : contracts) {
            std::cout << o.id;
            for (double v : black(o)) std::cout << ',' << v;
            std::cout << '\n';
        }
        ns = best(contracts, [](const Contract& o) {
            const auto v = black(o);
            return std::accumulate(v.begin(), v.end(), 0.0);
        });
    } else {
        Qdfp engine(what);
        std::cout << "id,price\n";
        for (const auto& o : contracts) std::cout << o.id << ',' << engine.value(o) << '\n';
        ns = best(contracts, [&](const Contract& o) { return engine.value(o); });
    }
    std::cout << "ns," << ns << '\n';
}
