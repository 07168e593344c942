import type { IncomingCall, StreamEnd } from '../ports/transport.ts';

/** A node that is let in, by the name that all streams know it by, or why it is not. */
export type Admitted = { readonly node: string } | { readonly refused: StreamEnd };

/** Decides which streams are served. */
export interface Access {
  /** Judges the metadata of a stream before anything of it is read. Undefined: its node id decides. */
  judge(call: Pick<IncomingCall, 'metadata'>): Admitted | undefined;
  /** Finds the node that an id means. `proven`: the node that the metadata prove; undefined: they need not prove one. */
  admit(id: string, proven: string | undefined): Admitted;
  /** Calls `end` when what the node has shown is not valid any more, until the returned function is called. */
  watch(node: string, end: (reason: StreamEnd) => void): () => void;
  /** Ends a stream that is refused, after a delay, so that a caller cannot try many tokens. */
  refuse(call: IncomingCall, end: StreamEnd): Promise<void>;
}
