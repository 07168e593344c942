import { isJsonObject, type JsonObject, type JsonValue } from '../text/json.ts';

/**
 * Whether a signer that the RelayConfig names has signed the commit that gave a file its content. `signer`: as the RelayConfig
 * names them. `problem`: why the file counts as not signed, as the end of a sentence.
 */
export type FileSignature = { readonly signer: string } | { readonly problem: string };

/** The verdicts on files of one revision, by path. */
export type FileSignatures = Readonly<Record<string, FileSignature>>;

/** The JSON of verdicts in the record of an admission. */
export function signaturesJson(signatures: FileSignatures): JsonObject {
  return { ...signatures };
}

/** Verdicts of the record of an admission; undefined: it has none. What cannot be read is not signed. */
export function parseSignatures(value: JsonValue | undefined): FileSignatures | undefined {
  if (!isJsonObject(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).map(([path, verdict]): [string, FileSignature] => {
      const { signer, problem } = isJsonObject(verdict) ? verdict : {};
      if (typeof signer === 'string') return [path, { signer }];
      return [path, { problem: typeof problem === 'string' ? problem : 'the record of its signature cannot be read' }];
    }),
  );
}
