import {
  type CelEnv,
  type CelFunc,
  CelScalar,
  type CelValue,
  celEnv,
  celFunc,
  celList,
  isCelError,
  listType,
  objectType,
} from '@bufbuild/cel';
import { DurationSchema } from '@bufbuild/protobuf/wkt';
import type { Meter } from '../../values/meter.ts';
import { addressFunctions } from './functions/addresses.ts';
import { constant, costing, createWeigh, type MeteredFunction, membersOf, method } from './functions/costs.ts';
import { formatFunctions } from './functions/forms.ts';
import { internalFunctions } from './functions/internal.ts';
import { libraryFunctions } from './functions/library.ts';
import { listFunctions, type Operators, setFunctions } from './functions/lists.ts';
import { createOpaqueTypes } from './functions/opaque.ts';
import { patternFunctions } from './functions/patterns.ts';
import { quantityFunctions } from './functions/quantities.ts';
import { semverFunctions } from './functions/semver.ts';
import { textFunctions } from './functions/texts.ts';
import { parseUrl, urlFunctions } from './functions/urls.ts';

/** An environment of the library with the functions that Kubernetes adds to CEL. */
export interface Environment {
  readonly env: CelEnv;
  /** Counts the work of its functions. */
  readonly meter: Meter;
  /** The names of all functions. */
  readonly functions: ReadonlySet<string>;
  /** Marks a value that an API server compares and adds in a way of its own: rules that do so are not evaluated. */
  markIncomparable(value: object): void;
}

/** Steps that making an error takes. */
const STEPS_OF_ERROR = 20;

/** Functions that look at what two values hold. */
const COMPARING: ReadonlySet<string> = new Set(['_==_', '_!=_', '_+_']);

/**
 * Makes the environment. Each function charges the meter for what it reads and makes before it does so: see costs.ts.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-cel-libraries
 */
export function createEnvironment(meter: Meter): Environment {
  const weigh = createWeigh();
  const incomparable = new WeakSet<object>();
  const isIncomparable = (value: CelValue): boolean =>
    typeof value === 'object' && value !== null && incomparable.has(value);
  const charged = ({ func, cost }: MeteredFunction): CelFunc => {
    const compares = COMPARING.has(func.name);
    const run = (target: CelValue | undefined, args: CelValue[]): CelValue => {
      if (compares && args.some(isIncomparable)) throw new Error('no such overload: comparison of a set');
      meter.charge(target === undefined ? cost(weigh, ...args) : cost(weigh, target, ...args));
      const result = func.call(0, target, args);
      if (result !== undefined && !isCelError(result)) return result;
      meter.charge(STEPS_OF_ERROR);
      throw result ?? new Error('no such overload');
    };
    const { name, target, arguments: types, result } = func;
    if (target === undefined) return celFunc(name, types, result, (...args: CelValue[]) => run(undefined, args));
    return method(name, target, types, result, (self, ...args: CelValue[]) => run(self, args));
  };
  const { registry, types } = createOpaqueTypes();
  // They are called when the environment is complete.
  const operators = operatorsOf((name) => env.funcs.find(name));
  const funcs = [
    ...libraryFunctions(),
    ...textFunctions(meter),
    ...patternFunctions(meter),
    ...quantityFunctions(types.Quantity),
    ...semverFunctions(types.Semver),
    ...addressFunctions(types.IP, types.CIDR),
    ...urlFunctions(types.URL, meter),
    ...formatFunctions(types.NamedFormat, (text) => parseUrl(text) !== undefined),
    ...listFunctions(meter, operators),
    ...setFunctions(operators),
    ...correctedFunctions(),
    ...internalFunctions(meter),
  ].map(charged);
  const env = celEnv({ registry, funcs }) as CelEnv;
  const metered = new Set(funcs);
  for (const func of env.funcs) {
    if (!metered.has(func)) throw new Error(`the function ${func.id} of CEL has no cost`);
  }
  return {
    env,
    meter,
    functions: new Set(funcs.map(({ name }) => name)),
    markIncomparable: (value) => {
      incomparable.add(value);
    },
  };
}

/** Functions that the library has in another form. */
function correctedFunctions(): readonly MeteredFunction[] {
  const LIST = listType(CelScalar.DYN);
  return [
    // The library gives the rest below a second.
    ...costing(
      constant,
      method(
        'getMilliseconds',
        objectType(DurationSchema),
        [],
        CelScalar.INT,
        (self) => self.message.seconds * 1000n + BigInt(Math.trunc(self.message.nanos / 1_000_000)),
      ),
    ),
    // The library's own lists of lists take a stack frame for each addition.
    ...costing(
      (_, left, right) => 1 + (membersOf(left) + membersOf(right)) / 4,
      celFunc('_+_', [LIST, LIST], LIST, (left, right) => celList([...left, ...right])),
    ),
  ];
}

type Find = (name: string) => Pick<CelFunc, 'call'> | undefined;

function operatorsOf(find: Find): Operators {
  const operator =
    (name: string) =>
    (left: CelValue, right: CelValue): CelValue => {
      const result = find(name)?.call(0, undefined, [left, right]);
      if (result === undefined || isCelError(result)) throw result ?? new Error(`no such overload: ${name}`);
      return result;
    };
  const [less, add, equals] = [operator('_<_'), operator('_+_'), operator('_==_')];
  return {
    compare: (left, right) => (less(left, right) === true ? -1 : less(right, left) === true ? 1 : 0),
    add,
    equals: (left, right) => equals(left, right) === true,
  };
}
