/** Small manifests that aliases make large. */

const head = (name: string, namespace: string) => `apiVersion: v1
kind: ConfigMap
metadata: { name: ${name}, namespace: ${namespace} }
`;

const times = (count: number, text: string): string => Array.from({ length: count }, () => text).join(', ');

/** A custom object of 3.9 kB with this many values in a list, besides a dozen of others: 7 × 7 × 7 × ... of them. */
export function manyValues(name: string, namespace = 'x'): string {
  const lists = [`a: &a [${times(100, '1')}]`, `b: &b [${times(49, '*a')}]`, `c: [${times(49, '*b')}]`];
  return `apiVersion: example.com/v1\nkind: Odd\nmetadata: { name: ${name}, namespace: ${namespace} }\nspec:\n  ${lists.join('\n  ')}\n`;
}

/** A ConfigMap whose text has this many characters, each of which JSON writes as `\u0001`. */
export function escapedText(name: string, characters: number, namespace = 'x'): string {
  return expanded(name, characters, '\\x01', namespace);
}

/** A ConfigMap with this many characters of text, in a file of a thousandth of that. */
export function plainText(name: string, characters: number, namespace = 'x'): string {
  return expanded(name, characters, 'x', namespace);
}

function expanded(name: string, characters: number, character: string, namespace: string): string {
  const each = Math.ceil(characters / 960);
  const members = Array.from({ length: 959 }, (_, at) => `k${at}: *t`).join(', ');
  return `${head(name, namespace)}data: { t: &t "${character.repeat(each)}", ${members} }\n`;
}
