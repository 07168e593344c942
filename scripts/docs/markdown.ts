/** The first line of a page that is made completely from something else. */
export function generatedFrom(source: string): string {
  return `<!-- Generated from ${source}. Do not edit; run "npm run generate". -->`;
}

/**
 * Plain text as Markdown that shows just that: nothing in it is a list, emphasis, HTML or a template of VitePress. What stands
 * between backticks is code, and stays as it is.
 */
export function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : escaped(part)))
    .join('');
}

function escaped(text: string): string {
  return text
    .replaceAll(/[*\\]/g, '\\$&')
    .replaceAll('<', '&lt;')
    .replaceAll('{{', '&#123;&#123;')
    .replaceAll(/\[([^\]]*)\](?=\()/g, '\\[$1]');
}

/** A text as code in a line; empty for an empty text. */
export function code(text: string): string {
  if (text === '') return '';
  const fence = text.includes('`') ? '``' : '`';
  return `${fence}${text}${fence}`;
}

/** A table. The cells are Markdown. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')).join(' | ')} |`;
  return [line(titles), `|${'---|'.repeat(titles.length)}`, ...rows.map(line)];
}

/** A section with a heading of the second level; no lines for one without content. */
export function section(title: string, content: readonly string[]): readonly string[] {
  return content.length === 0 ? [] : [`## ${title}`, '', ...content, ''];
}

/** A block of code in a language. */
export function block(language: string, text: string): readonly string[] {
  return [`\`\`\`${language}`, ...text.trimEnd().split('\n'), '```'];
}

/** Lines as the text of a page: no two empty lines in a row, one line end at the end. */
export function page(lines: readonly string[]): string {
  return `${lines
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()}\n`;
}

/** The text with a capital letter at its beginning. */
export function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
