import * as fc from 'fast-check';

/** Clusters of the generated fleets, also partitions of live inputs. */
export const clusters = ['c1', 'c2', 'c3'] as const;
/** Partitions of desired inputs; one of them is empty, one has the name of a cluster. */
export const partitions = ['', 's1', 'c1'] as const;
/** Keys of all inputs. */
export const keys = ['k1', 'k2', 'k3', 'k4'] as const;

/** How a function reads one of the things that it declares: at its own address, at a fixed one, or at one that depends on what it has read so far. */
export type Address = 'own' | 'fixed' | 'computed';

/** One declared read. `node` picks one of the earlier nodes. */
export interface ReadSpec {
  readonly node: number;
  readonly failures: boolean;
  readonly address: Address;
  /** Of an index: the number alone. */
  readonly count: boolean;
}

/** What a function emits: at its own address; under several clusters; at a key that others emit too; nothing at all now and then. */
export type Emission = 'own' | 'spread' | 'collide' | 'seldom' | 'twice';

/** One node of a random graph. Numbers that pick an earlier node are taken modulo what there is. */
export type NodeSpec =
  | { readonly kind: 'input'; readonly live: boolean }
  | {
      readonly kind: 'derive' | 'gather' | 'join';
      readonly from: number;
      readonly right: number;
      readonly fromFailures: boolean;
      /** Computes only for one partition, unless it is a join. */
      readonly onlyPartition: number | undefined;
      /** Leaves out the entries of one key, unless it is a join. */
      readonly withoutKey: number | undefined;
      readonly reads: readonly ReadSpec[];
      readonly scoped: boolean;
      /** Sees everything, and is where scopes end. */
      readonly seesAll: boolean;
      readonly emission: Emission;
      /** Values are one of so few that recomputing often gives the same. */
      readonly coarse: boolean;
      /** One of this number of calls throws; 0: none does. */
      readonly throwsOneIn: number;
      readonly equals: 'default' | 'text' | 'throws';
      readonly salt: number;
    }
  | { readonly kind: 'index'; readonly from: number; readonly throwsOneIn: number; readonly salt: number }
  /** The sizes of the groups of an index of its own. */
  | { readonly kind: 'counts'; readonly from: number; readonly throwsOneIn: number; readonly salt: number };

/** A random graph: two inputs that are always there (one desired, one live), then anything. */
export type GraphSpec = readonly NodeSpec[];

/** One staged write. */
export type Write =
  | {
      readonly op: 'set';
      readonly input: number;
      readonly partition: number;
      readonly key: number;
      readonly value: number;
    }
  | { readonly op: 'delete'; readonly input: number; readonly partition: number; readonly key: number }
  | { readonly op: 'drop'; readonly input: number; readonly partition: number };

/** Batches, each ended by a commit. */
export type History = readonly (readonly Write[])[];

/** What a generated graph may hold; all of it unless a law says otherwise. */
export interface Limits {
  readonly throwing?: boolean;
  readonly readsFailures?: boolean;
}

/** Random graphs. */
export function graphSpecs({ throwing = true, readsFailures = true }: Limits = {}): fc.Arbitrary<GraphSpec> {
  const pick = fc.nat({ max: 30 });
  const throwsOneIn = throwing ? fc.constantFrom(0, 0, 3, 6) : fc.constant(0);
  const failures = readsFailures ? fc.boolean().map((a) => a) : fc.constant(false);
  const seldom = readsFailures ? fc.constantFrom(false, false, false, true) : fc.constant(false);
  const read: fc.Arbitrary<ReadSpec> = fc.record({
    node: pick,
    failures: fc.constantFrom(false, false, false).chain(() => (readsFailures ? seldom : failures)),
    address: fc.constantFrom<Address>('own', 'fixed', 'computed'),
    count: fc.boolean(),
  });
  const derived: fc.Arbitrary<NodeSpec> = fc.record({
    kind: fc.constantFrom('derive' as const, 'derive' as const, 'gather' as const, 'join' as const),
    from: pick,
    right: pick,
    fromFailures: seldom,
    onlyPartition: fc.constantFrom(undefined, undefined, undefined, 0, 1),
    withoutKey: fc.constantFrom(undefined, undefined, undefined, 0, 1),
    reads: fc.array(read, { maxLength: 3 }),
    scoped: fc.boolean(),
    seesAll: fc.constantFrom(false, false, false, true),
    emission: fc.constantFrom<Emission>('own', 'own', 'spread', 'collide', 'collide', 'seldom', 'twice'),
    coarse: fc.boolean(),
    throwsOneIn,
    equals: fc.constantFrom('default' as const, 'default' as const, 'text' as const, 'throws' as const),
    salt: fc.nat({ max: 1000 }),
  });
  const index: fc.Arbitrary<NodeSpec> = fc.record({
    kind: fc.constantFrom('index' as const, 'index' as const, 'counts' as const),
    from: pick,
    throwsOneIn,
    salt: fc.nat({ max: 1000 }),
  });
  const input: fc.Arbitrary<NodeSpec> = fc.record({ kind: fc.constant('input' as const), live: fc.boolean() });
  const node = fc.oneof(
    { weight: 6, arbitrary: derived },
    { weight: 3, arbitrary: index },
    { weight: 1, arbitrary: input },
  );
  return fc
    .array(node, { minLength: 2, maxLength: 9 })
    .map((rest) => [{ kind: 'input' as const, live: false }, { kind: 'input' as const, live: true }, ...rest]);
}

/** Random writes. */
export const writes: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({
      op: fc.constant('set' as const),
      input: fc.nat({ max: 5 }),
      partition: fc.nat({ max: 2 }),
      key: fc.nat({ max: 3 }),
      value: fc.nat({ max: 4 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('delete' as const),
      input: fc.nat({ max: 5 }),
      partition: fc.nat({ max: 2 }),
      key: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('drop' as const),
      input: fc.nat({ max: 5 }),
      partition: fc.nat({ max: 2 }),
    }),
  },
);

/** Random histories. */
export const histories: fc.Arbitrary<History> = fc.array(fc.array(writes, { minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 6,
});
