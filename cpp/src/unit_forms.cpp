// The forms of units. The same tables stand in cohort/grading/reference/words.py.
#include <algorithm>
#include <array>

#include "cohort/ascii.h"
#include "cohort/words.h"

namespace cohort {
namespace {

using std::string_view_literals::operator""sv;

struct Entry {
    std::string_view form, name;
};

constexpr std::array kUnits{
    Entry{"GB", "GB"},
    Entry{"KB", "kB"},
    Entry{"MB", "MB"},
    Entry{"Mb", "Mb"},
    Entry{"USD", "$"},
    Entry{"acre", "acre"},
    Entry{"acres", "acre"},
    Entry{"atm", "atm"},
    Entry{"atmospheres", "atm"},
    Entry{"byte", "byte"},
    Entry{"bytes", "byte"},
    Entry{"cent", "cent"},
    Entry{"cents", "cent"},
    Entry{"cup", "cup"},
    Entry{"cups", "cup"},
    Entry{"day", "day"},
    Entry{"days", "day"},
    Entry{"degree", "degree"},
    Entry{"degrees", "degree"},
    Entry{"dollar", "$"},
    Entry{"dollars", "$"},
    Entry{"euro", "euro"},
    Entry{"euros", "euro"},
    Entry{"feet", "foot"},
    Entry{"foot", "foot"},
    Entry{"ft", "foot"},
    Entry{"gal", "gallon"},
    Entry{"gallon", "gallon"},
    Entry{"gallons", "gallon"},
    Entry{"gigabyte", "GB"},
    Entry{"gigabytes", "GB"},
    Entry{"h", "hour"},
    Entry{"ha", "hectare"},
    Entry{"hectare", "hectare"},
    Entry{"hectares", "hectare"},
    Entry{"hour", "hour"},
    Entry{"hours", "hour"},
    Entry{"hr", "hour"},
    Entry{"hrs", "hour"},
    Entry{"in", "inch"},
    Entry{"inch", "inch"},
    Entry{"inches", "inch"},
    Entry{"kB", "kB"},
    Entry{"kilobyte", "kB"},
    Entry{"kilobytes", "kB"},
    Entry{"kph", "km/hour"},
    Entry{"lb", "pound"},
    Entry{"lbs", "pound"},
    Entry{"megabit", "Mb"},
    Entry{"megabits", "Mb"},
    Entry{"megabyte", "MB"},
    Entry{"megabytes", "MB"},
    Entry{"mi", "mile"},
    Entry{"mile", "mile"},
    Entry{"miles", "mile"},
    Entry{"min", "minute"},
    Entry{"mins", "minute"},
    Entry{"minute", "minute"},
    Entry{"minutes", "minute"},
    Entry{"month", "month"},
    Entry{"months", "month"},
    Entry{"mph", "mile/hour"},
    Entry{"ounce", "ounce"},
    Entry{"ounces", "ounce"},
    Entry{"oz", "ounce"},
    Entry{"pint", "pint"},
    Entry{"pints", "pint"},
    Entry{"pound", "pound"},
    Entry{"pounds", "pound"},
    Entry{"pt", "pint"},
    Entry{"qt", "quart"},
    Entry{"quart", "quart"},
    Entry{"quarts", "quart"},
    Entry{"rad", "radian"},
    Entry{"radian", "radian"},
    Entry{"radians", "radian"},
    Entry{"rupee", "rupee"},
    Entry{"rupees", "rupee"},
    Entry{"s", "second"},
    Entry{"sec", "second"},
    Entry{"second", "second"},
    Entry{"seconds", "second"},
    Entry{"secs", "second"},
    Entry{"tablespoon", "tablespoon"},
    Entry{"tablespoons", "tablespoon"},
    Entry{"tbsp", "tablespoon"},
    Entry{"teaspoon", "teaspoon"},
    Entry{"teaspoons", "teaspoon"},
    Entry{"ton", "ton"},
    Entry{"tonne", "ton"},
    Entry{"tonnes", "ton"},
    Entry{"tons", "ton"},
    Entry{"tsp", "teaspoon"},
    Entry{"unit", "unit"},
    Entry{"units", "unit"},
    Entry{"week", "week"},
    Entry{"weeks", "week"},
    Entry{"yard", "yard"},
    Entry{"yards", "yard"},
    Entry{"yd", "yard"},
    Entry{"year", "year"},
    Entry{"years", "year"},
    Entry{"yen", "yen"},
    Entry{"yr", "year"},
    Entry{"yrs", "year"},
    Entry{"yuan", "yuan"},
};
static_assert(std::ranges::is_sorted(kUnits, {}, &Entry::form));

/// A unit that prefixes go with: its symbol, its words in singular, the symbols of its prefixes.
struct Metric {
    std::string_view symbol;
    std::array<std::string_view, 2> words;
    std::string_view prefixes;
};

constexpr std::string_view kShort = "cdkmn", kLarge = "GMkm";
constexpr std::array kMetric{
    Metric{"m", {"meter", "metre"}, kShort},
    Metric{"g", {"gram"}, kShort},
    Metric{"l", {"liter", "litre"}, kShort},
    Metric{"L", {}, kShort},
    Metric{"s", {"second"}, kShort},
    Metric{"A", {"ampere", "amp"}, kLarge},
    Metric{"Hz", {"hertz"}, kLarge},
    Metric{"J", {"joule"}, kLarge},
    Metric{"N", {"newton"}, kLarge},
    Metric{"Pa", {"pascal"}, kLarge},
    Metric{"V", {"volt"}, kLarge},
    Metric{"W", {"watt"}, kLarge},
    Metric{"Wh", {}, kLarge},
    Metric{"cal", {"calorie"}, kLarge},
    Metric{"mol", {"mole"}, kLarge},
};

constexpr std::array kPrefixes{
    Entry{"giga", "G"}, Entry{"mega", "M"},  Entry{"centi", "c"}, Entry{"deci", "d"},
    Entry{"kilo", "k"}, Entry{"milli", "m"}, Entry{"nano", "n"},
};

constexpr std::array kPlainShortForms{
    "cm"sv, "ft"sv, "hr"sv, "kg"sv, "km"sv, "lb"sv, "mg"sv,
    "mi"sv, "ml"sv, "mm"sv, "oz"sv, "yd"sv, "yr"sv,
};
static_assert(std::ranges::is_sorted(kPlainShortForms));

constexpr std::size_t kMaxForm = 16;  // no metric form is longer

std::string with_prefix(std::string_view prefix, std::string_view symbol) {
    return std::string(prefix).append(symbol == "L" ? "l" : symbol);
}

std::optional<std::string> metric_symbol(std::string_view form) {
    for (const Metric& metric : kMetric) {
        if (!form.ends_with(metric.symbol)) continue;
        const std::string_view prefix = form.substr(0, form.size() - metric.symbol.size());
        const bool known = prefix.size() == 1 && metric.prefixes.find(prefix[0]) != npos;
        if (known || prefix.empty()) return with_prefix(prefix, metric.symbol);
    }
    return std::nullopt;
}

std::optional<std::string> metric_word(std::string_view form) {
    std::string_view prefix;
    for (const Entry& entry : kPrefixes) {
        if (!form.starts_with(entry.form)) continue;
        prefix = entry.name;
        form.remove_prefix(entry.form.size());
        break;
    }
    for (const Metric& metric : kMetric) {
        const bool known = prefix.empty() || metric.prefixes.find(prefix[0]) != npos;
        for (const std::string_view word : metric.words) {
            if (!known || word.empty() || !form.starts_with(word)) continue;
            const std::string_view rest = form.substr(word.size());
            if (rest.empty() || rest == "s") return with_prefix(prefix, metric.symbol);
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> unit_form(std::string_view form) {
    const auto entry = std::ranges::lower_bound(kUnits, form, {}, &Entry::form);
    if (entry != kUnits.end() && entry->form == form) return std::string(entry->name);
    if (form.empty() || form.size() > kMaxForm) return std::nullopt;
    if (auto name = metric_symbol(form)) return name;
    return metric_word(form);
}

std::optional<std::string> unit_of_word(std::string_view word) {
    if (auto name = unit_form(word)) return name;
    if (word.size() < 2 || word.size() > kMaxForm) return std::nullopt;
    return unit_form(lowered(word));
}

bool is_lone_unit(std::string_view form) {
    return form.size() < 3 && unit_form(form) &&
           !std::ranges::binary_search(kPlainShortForms, form);
}

bool is_currency(std::string_view unit) {
    static constexpr std::array kCurrencies{"$"sv, "euro"sv, "gbp"sv, "rupee"sv, "yen"sv, "yuan"sv};
    return std::ranges::binary_search(kCurrencies, unit);
}

}  // namespace cohort
