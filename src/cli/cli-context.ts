import type { ProcessContext } from './command.ts';
import type { Roots } from './roots.ts';

/** The process of the complete program, which can start every root of the core. */
export interface CliContext extends ProcessContext {
  readonly roots: Roots;
  /** Seconds for which completion waits for the server; absent: half a second. */
  readonly completionSeconds?: number;
}
