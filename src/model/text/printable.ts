// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters on purpose.
const OBEYED_BY_TERMINALS = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/**
 * What CI systems obey in the log of a job: `##[error]` of GitHub Actions and `##vso[...]` of Azure Pipelines anywhere in a
 * line. GitHub Actions also obeys `::error::` at the beginning of a line.
 */
const OBEYED_BY_CI = /##(?=[a-z]*\[)/gi;

/** Foreign text on one line, without characters that control a terminal, nor commands to a CI system inside of a line. */
export function printable(text: string): string {
  return text
    .replaceAll(/[\r\n\t]+/g, ' ')
    .replaceAll(OBEYED_BY_TERMINALS, '\ufffd')
    .replaceAll(OBEYED_BY_CI, '# #');
}

/** A path at the beginning of a line. */
export function printablePath(path: string): string {
  return printable(/^\s*::/.test(path) ? `./${path}` : path);
}

/** A value as JSON in which all that a terminal or a CI system would obey is escaped. */
export function printableJson(value: unknown, indent?: number): string {
  const escaped = (found: string): string => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, undefined, indent)
    .replaceAll(OBEYED_BY_TERMINALS, (found) => (found === '\n' ? found : escaped(found)))
    .replaceAll(OBEYED_BY_CI, `#${escaped('#')}`);
}
