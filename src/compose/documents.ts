import type { Diagnostic } from '../model/fleet/diagnostic.ts';
import type { JsonObject, JsonValue } from '../model/text/json.ts';

/** Asks for documents in files and folders. */
export interface DocumentsRequest {
  /** Files and folders, relative to `cwd`; `-` is standard input. */
  readonly paths: readonly string[];
  readonly cwd: string;
  readonly readStdin: (maxBytes: number) => Promise<Uint8Array>;
  readonly isWanted: (value: JsonValue) => value is JsonObject;
}

/** The documents that are wanted, in the order of the files. */
export interface FoundDocuments {
  /** `at`: `PATH:LINE`. */
  readonly documents: readonly { readonly value: JsonObject; readonly at: string }[];
  /** Errors of files that cannot be read. */
  readonly diagnostics: readonly Diagnostic[];
}
