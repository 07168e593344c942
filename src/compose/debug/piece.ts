import type { JsonValue } from '../../model/json.ts';

/** Something for the snapshot, or why it could not be had. */
export type DebugPiece =
  | { readonly path: string; readonly type: 'json'; readonly value: JsonValue }
  | { readonly path: string; readonly type: 'text'; readonly text: string }
  | { readonly path: string; readonly type: 'missing'; readonly why: string };
