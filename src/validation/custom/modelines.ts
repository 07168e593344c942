/** A statement of the schema of documents, for editors: `# yaml-language-server: $schema=PATH-OR-URL`. */
export interface Modeline {
  /** From 1. It holds for the documents that begin below it, until the next one. */
  readonly line: number;
  /** Of the reference, from 1. */
  readonly column: number;
  /** A path relative to the file, or a URL. */
  readonly reference: string;
}

const FORM = /^(#\s*yaml-language-server\s*:\s*\$schema\s*=\s*)(\S+)\s*$/gm;

/**
 * Finds the statements in the text of a YAML file, in its order. A comment inside a document is one too, as editors read it.
 * https://github.com/redhat-developer/yaml-language-server#using-inlined-schema
 */
export function findModelines(text: string): readonly Modeline[] {
  if (!text.includes('yaml-language-server')) return [];
  const found: Modeline[] = [];
  let line = 1;
  let counted = 0;
  for (const { index, 1: before = '', 2: reference = '' } of text.matchAll(FORM)) {
    for (let at = text.indexOf('\n', counted); at >= 0 && at < index; at = text.indexOf('\n', at + 1)) line += 1;
    counted = index;
    found.push({ line, column: before.length + 1, reference });
  }
  return found;
}
