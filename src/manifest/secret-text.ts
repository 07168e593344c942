import { namesSecret } from '../model/objects/secret-values.ts';

/** A kind that the text names somewhere, as far as its first white space. */
const KIND = /\bkind["']?\s*:\s*["']?([^\s"',}\]]*)/gi;
/** The kind of a document itself: a line that is not indented. Lines end as in YAML; `^` knows more ends of lines. */
const OWN_KIND = /(?:^|[\r\n])\uFEFF?["']?kind["']?[ \t]*:[ \t]+["']?\w+["']?[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|$)/g;
/** Only the kind of a document with one of these words says whether it is a Secret. */
const MAY_BE_OBJECT = /\b(?:apiVersion|metadata|data|stringData)\b/;
/** Kinds of lists whose items need not say what they are. */
const LISTS: readonly string[] = ['List', 'list'];

/**
 * Whether a text may hold a Secret; then no message may quote it. The text need not be YAML, and the kind of a document may follow
 * its values. So it may hold one if a kind is Secret, or may be a misspelt Secret, or if the kind of a document is missing or cannot
 * be read without a parser.
 */
export function mayHoldSecret(text: string): boolean {
  if (text.includes('Secret') || text.includes('stringData')) return true;
  return text.split(/^---/m).some((document) => {
    const kinds = new Set([...document.matchAll(KIND)].map(([, kind = '']) => kind));
    return kinds.values().some(mayNameSecret) || (MAY_BE_OBJECT.test(document) && !hasOwnKind(document));
  });
}

/** Whether the kind of a document is found without a parser. Other kinds, such as in owner references or comments, say nothing of the document. */
function hasOwnKind(document: string): boolean {
  const text = document.trimStart();
  if (text.startsWith('{')) return hasKindInBraces(text);
  OWN_KIND.lastIndex = 0;
  const found = OWN_KIND.exec(document);
  if (found === null) return false;
  // The line may be part of a quoted text, or of braces that began before.
  const before = document.slice(0, found.index).replaceAll(/(?:^|(?<=[\r\n]))[ \t]*#[^\r\n]*/g, '');
  const count = (character: string): number => before.split(character).length - 1;
  return count('{') === count('}') && count('[') === count(']') && count('"') % 2 === 0 && count("'") % 2 === 0;
}

/** A text in double quotes of JSON, or one other character. A text without an end goes to the end of the document. */
const JSON_PART = /"(?:[^"\\]|\\.?)*"?|./gsy;

/** Whether an object of JSON has a kind of its own, not only members with one. */
function hasKindInBraces(text: string): boolean {
  let depth = 0;
  for (const { 0: part, index } of text.matchAll(JSON_PART)) {
    if (part === '{' || part === '[') depth += 1;
    else if (part === '}' || part === ']') depth -= 1;
    else if (depth === 1 && part === '"kind"' && /^"kind"\s*:\s*"\w+"/.test(text.slice(index, index + 200)))
      return true;
    if (depth === 0) return false;
  }
  return false;
}

function mayNameSecret(kind: string): boolean {
  // A mapping or a list, as in a schema that has a field of that name.
  if (kind.endsWith(':') || kind.startsWith('{') || kind.startsWith('[')) return false;
  return !/^[A-Za-z]\w*$/.test(kind) || /secret/i.test(kind) || LISTS.includes(kind) || namesSecret(kind);
}
