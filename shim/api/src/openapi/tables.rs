//! The tables of parameters in `docs/compat.md`, written from the tables of the layers. Never: a parameter's name.

#[cfg(test)]
mod tests {
    use crate::query::parameter::{Parameter, ParameterForm};
    use crate::vendors::layer::{Layer, Serve};
    use crate::vendors::routes::{LAYERS, NAMES};
    use std::fmt::Write;

    /// Where the tables begin in the document, and where they end.
    const BEGIN: &str = "<!-- parameters: written from the program's tables -->\n";
    const END: &str = "<!-- end of parameters -->\n";

    /// The tables of all layers.
    fn tables() -> String {
        let mut out = String::new();
        for name in NAMES {
            let has_data = |layer: &&&Layer| layer.name == name && !matches!(layer.serve, Serve::Text(_));
            let layers: Vec<&Layer> = LAYERS.iter().filter(has_data).copied().collect();
            let _ =
                write!(out, "\n### `{name}`\n\n| parameter | values | what it is for | where |\n|---|---|---|---|\n");
            let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
            for layer in &layers {
                for of in layer.parameters {
                    let row = row(*of);
                    match rows.iter_mut().find(|(known, _)| *known == row) {
                        Some((_, paths)) => paths.push(layer.path),
                        None => rows.push((row, vec![layer.path])),
                    }
                }
            }
            for (row, paths) in rows {
                let _ = writeln!(out, "| {row} | {} |", places(&paths, &layers));
            }
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

    /// A parameter: its name, values and meaning.
    fn row(of: &dyn Parameter) -> String {
        let required = if of.is_required() { ", required" } else { "" };
        format!("`{}` | {}{required} | {}", of.name(), values(&of.form()), of.help().replace('*', "`*`"))
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
    fn the_document_has_the_tables_of_the_layers() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compat.md");
        let document = std::fs::read_to_string(path).unwrap();
        let (before, rest) = document.split_once(BEGIN).unwrap();
        let (written, after) = rest.split_once(END).unwrap();
        let wanted = tables();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, [before, BEGIN, &wanted, "\n", END, after].concat()).unwrap();
            return;
        }
        let differs = written.trim().lines().zip(wanted.trim().lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None, "UPDATE_GOLDEN=1 writes the tables of docs/compat.md");
        assert_eq!(written.trim(), wanted.trim(), "UPDATE_GOLDEN=1 writes the tables of docs/compat.md");
    }
}
