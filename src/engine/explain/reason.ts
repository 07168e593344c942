import type { ObjectKey } from '../../model/object-key.ts';
import type { Origin } from '../../model/output.ts';
import type { DocumentRef } from '../fleet/sources.ts';
import type { Progress } from '../status/progress.ts';

/** One thing that has a part in an output, and the part it has. */
export type Reason =
  | { readonly type: 'declares'; readonly at: DocumentRef; readonly counts: boolean }
  /** Declared there when it was last accepted; nothing declares it now. */
  | { readonly type: 'declared'; readonly at: Origin }
  | { readonly type: 'folder'; readonly cluster: string }
  /** A declaration of an engine kind that selects, translates or registers something; `part`: what it does here. */
  | {
      readonly type: 'rule';
      readonly kind: string;
      readonly name: string;
      readonly at: DocumentRef;
      readonly part: string;
    }
  /** A live object that a domain computed it from; `part`: what it does here. */
  | { readonly type: 'live'; readonly cluster: string; readonly key: ObjectKey; readonly part: string }
  /** An object of a cluster that is not applied. */
  | { readonly type: 'object'; readonly cluster: string; readonly key: ObjectKey; readonly progress: Progress }
  /** It could have been computed from what lives in another cluster; what that was is not seen any more. */
  | { readonly type: 'scope'; readonly cluster: string };
