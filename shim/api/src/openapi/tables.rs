//! The tables of parameters on the pages of `docs/compat`, written from the tables of the layers. Never: a parameter's
//! name.

#[cfg(test)]
mod tests {
    use crate::query::parameter::{Parameter, ParameterForm};
    use crate::vendors::layer::{Layer, Serve};
    use crate::vendors::routes::{LAYERS, NAMES};
    use std::fmt::Write;

    const END: &str = "<!-- end of parameters -->\n";

    /// The line that stands before the table of a layer.
    fn begin(name: &str) -> String {
        format!("<!-- parameters of {name}: written from the program's tables -->\n")
    }

    /// The endpoints of a layer that answer rows, without a second spelling of a path that names its format.
    fn endpoints(name: &str) -> Vec<&'static Layer> {
        let is_its = |layer: &&&Layer| layer.name == name && !matches!(layer.serve, Serve::Text(_));
        let names_format = |layer: &&&Layer| layer.path.ends_with(".json") || layer.path.ends_with(".csv");
        LAYERS.iter().filter(|layer| is_its(layer) && !names_format(layer)).copied().collect()
    }

    /// The table of a layer without `format`, which every layer reads; the column of endpoints is left out where every
    /// parameter is of all of them.
    fn table(name: &str) -> String {
        let layers = endpoints(name);
        let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
        for layer in &layers {
            for of in layer.parameters.iter().filter(|of| of.name() != "format") {
                let row = row(*of);
                match rows.iter_mut().find(|(known, _)| *known == row) {
                    Some((_, paths)) => paths.push(layer.path),
                    None => rows.push((row, vec![layer.path])),
                }
            }
        }
        let places: Vec<String> = rows.iter().map(|(_, paths)| places(paths, &layers)).collect();
        let has_places = places.iter().any(|place| !place.is_empty());
        let mut out = "| parameter | meaning |".to_owned();
        out += if has_places { " where |\n|---|---|---|\n" } else { "\n|---|---|\n" };
        for ((row, _), place) in rows.iter().zip(&places) {
            let _ = if has_places { writeln!(out, "| {row} | {place} |") } else { writeln!(out, "| {row} |") };
        }
        out
    }

    /// The endpoints that read a parameter, or those that do not, whichever are fewer; nothing where all of them do.
    fn places(paths: &[&str], layers: &[&Layer]) -> String {
        let others = layers.iter().map(|layer| layer.path).filter(|path| !paths.contains(path));
        let others: Vec<&str> = others.collect();
        let (word, named) = if others.len() < paths.len() { ("not ", &others[..]) } else { ("", paths) };
        if named.is_empty() {
            return String::new();
        }
        let named: Vec<String> = named.iter().map(|path| format!("`{path}`")).collect();
        format!("{word}{}", named.join(", "))
    }

    /// A parameter: its name, meaning and values.
    fn row(of: &dyn Parameter) -> String {
        let required = if of.is_required() { ", required" } else { "" };
        format!("`{}` | {} ({}{required})", of.name(), of.help().replace('*', "`*`"), values(&of.form()))
    }

    fn values(form: &ParameterForm) -> String {
        let words = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        match form {
            ParameterForm::Text => "text".to_owned(),
            ParameterForm::List => "list".to_owned(),
            ParameterForm::Date => "date".to_owned(),
            ParameterForm::Date8 => "date, `YYYYMMDD`".to_owned(),
            ParameterForm::Dates => "list of dates".to_owned(),
            ParameterForm::Number => "number".to_owned(),
            ParameterForm::Integer(bounds) => match (*bounds.start(), *bounds.end()) {
                (i64::MIN, i64::MAX) => "integer".to_owned(),
                (least, i64::MAX) => format!("integer from {least}"),
                (least, most) => format!("integer from {least} to {most}"),
            },
            ParameterForm::Range => "`min,max`".to_owned(),
            ParameterForm::Flag => "`true`, `false`".to_owned(),
            ParameterForm::Word(all) => words(all),
            ParameterForm::Words(all) => format!("list of {}", words(all)),
        }
    }

    #[test]
    fn the_documents_have_the_tables_of_the_layers() {
        let docs = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
        for name in NAMES.into_iter().filter(|name| *name != "native") {
            let page = docs.join(format!("compat/{}.md", name.split("_v").next().unwrap()));
            let document = std::fs::read_to_string(&page).unwrap();
            let begin = begin(name);
            let (before, rest) = document.split_once(&begin).expect(name);
            let (written, after) = rest.split_once(END).unwrap();
            let wanted = table(name);
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                std::fs::write(&page, [before, &begin, "\n", &wanted, "\n", END, after].concat()).unwrap();
                continue;
            }
            let differs = written.trim().lines().zip(wanted.trim().lines()).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{name}: UPDATE_GOLDEN=1 writes the tables");
            assert_eq!(written.trim(), wanted.trim(), "{name}: UPDATE_GOLDEN=1 writes the tables");
        }
        let pages = ["api.md", "metrics.md"].map(|page| std::fs::read_to_string(docs.join(page)).unwrap());
        for layer in endpoints("native") {
            // an endpoint of a page of its own may name what is alike as that of the others
            let page =
                if pages[1].contains(&format!("`GET {}`", layer.path)) { pages.concat() } else { pages[0].clone() };
            for of in layer.parameters {
                let name = of.name();
                assert!(page.contains(&format!("`{name}`")), "{name} of {} is in no document", layer.path);
            }
        }
    }
}
