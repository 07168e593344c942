/** Steps from the root of a document to a value. */
export type FieldPath = readonly (string | number)[];

/**
 * Steps to a value of a document as it is written. A decoded list is sorted, so its index says nothing about the file:
 * there an item is named by its text.
 */
export type WrittenPath = readonly (string | number | { readonly item: string })[];

/** A path as people write it: `spec.paths[0]`, `metadata.labels["a/b"]`. */
export function displayPath(path: FieldPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}
