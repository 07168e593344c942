/** Tells when what an act has changed outlasts the process. */
export interface Receipt {
  /** Resolves with true when it does; with false if another process writes these records now, and may write something else. */
  readonly written: Promise<boolean>;
  /** Why it does not yet, for people; undefined: nothing has failed. */
  readonly problem: () => string | undefined;
  /** Its caller does not wait any more. */
  readonly cancel: () => void;
}

/** The receipt of what is durable already. */
export const durableAlready: Receipt = {
  written: Promise.resolve(true),
  problem: () => undefined,
  cancel: () => undefined,
};

/** The receipt of all of these together. */
export function joinReceipts(receipts: readonly Receipt[]): Receipt {
  return {
    written: Promise.all(receipts.map(({ written }) => written)).then((all) => !all.includes(false)),
    problem: () => receipts.map(({ problem }) => problem()).find((each) => each !== undefined),
    cancel: () => {
      for (const { cancel } of receipts) cancel();
    },
  };
}
