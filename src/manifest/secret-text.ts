import { namesSecret } from '../model/secret-values.ts';

/** A kind that the text names somewhere, as far as its first white space. */
const KIND = /\bkind["']?\s*:\s*["']?([^\s"',}\]]*)/gi;
/** A document of which only its kind tells whether it is a Secret. */
const MAY_BE_OBJECT = /\b(?:apiVersion|metadata|data|stringData)\b/;
/** Kinds of lists whose items need not say what they are. */
const LISTS: readonly string[] = ['List', 'list'];

/**
 * Whether a text may hold a Secret, so that no message may say anything of what stands in it. The text need not be YAML, and the
 * kind of a document may follow its values. Every text counts in which a kind is, or may be meant to be, the one of Secrets, or
 * in which the kind of a document is missing or cannot be read without a parser.
 */
export function mayHoldSecret(text: string): boolean {
  if (text.includes('Secret') || text.includes('stringData')) return true;
  return text.split(/^---/m).some((document) => {
    const kinds = new Set([...document.matchAll(KIND)].map(([, kind = '']) => kind));
    if (kinds.size === 0) return MAY_BE_OBJECT.test(document);
    return kinds.values().some(mayNameSecret);
  });
}

function mayNameSecret(kind: string): boolean {
  // A mapping or a list, as in a schema that has a field of that name.
  if (kind.endsWith(':') || kind.startsWith('{') || kind.startsWith('[')) return false;
  return !/^[A-Za-z]\w*$/.test(kind) || /secret/i.test(kind) || LISTS.includes(kind) || namesSecret(kind);
}
