import {
  type CelEnv,
  type CelFunc,
  CelScalar,
  type CelValue,
  celEnv,
  celFunc,
  celList,
  celMethod,
  isCelError,
  isCelList,
  isCelMap,
  listType,
  objectType,
} from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { DurationSchema } from '@bufbuild/protobuf/wkt';
import type { Meter } from '../../values/meter.ts';
import { addressFunctions } from './functions/addresses.ts';
import { internalFunctions } from './functions/internal.ts';
import { listFunctions, type Operators, setFunctions } from './functions/lists.ts';
import { createOpaqueTypes } from './functions/opaque.ts';
import { quantityFunctions } from './functions/quantities.ts';
import { semverFunctions } from './functions/semver.ts';
import { formatFunctions, textFunctions } from './functions/texts.ts';
import { parseUrl, urlFunctions } from './functions/urls.ts';

/** An environment of the library with the functions that Kubernetes adds to CEL. */
export interface Environment {
  readonly env: CelEnv;
  /** The names of all functions. */
  readonly functions: ReadonlySet<string>;
  /** Tells the meter how much a value holds, for comparisons; other values count as one. */
  weigh(value: object, nodes: number): void;
  /** Marks a value that an API server compares and adds in a way of its own: rules that do so are not evaluated. */
  markIncomparable(value: object): void;
}

/** Functions whose work does not grow with their arguments. */
const CONSTANT: ReadonlySet<string> = new Set([
  ...['!_', '-_', '_-_', '_*_', '_/_', '_%_', '@step', '@push', 'type', 'int', 'uint', 'double', 'bool'],
]);

/** Functions that look at what two values hold. */
const COMPARING: ReadonlySet<string> = new Set(['_==_', '_!=_', '_+_']);

/**
 * Makes the environment. Functions charge the meter for the size of their arguments, so that neither long texts nor large
 * lists make an evaluation long.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-cel-libraries
 */
export function createEnvironment(meter: Meter): Environment {
  const weights = new WeakMap<object, number>();
  const incomparable = new WeakSet<object>();
  const isIncomparable = (value: CelValue): boolean =>
    typeof value === 'object' && value !== null && incomparable.has(value);
  const sizeOf = (value: CelValue | undefined): number => {
    if (typeof value === 'string') return value.length / 16;
    if (typeof value !== 'object' || value === null) return 0;
    return weights.get(value) ?? (isCelList(value) || isCelMap(value) ? value.size : 1);
  };
  const charged = (func: CelFunc): CelFunc => {
    if (CONSTANT.has(func.name)) return func;
    const run = (target: CelValue | undefined, args: CelValue[]): CelValue => {
      if (COMPARING.has(func.name) && args.some(isIncomparable))
        throw new Error('no such overload: comparison of a set');
      meter.charge(args.reduce<number>((sum, arg) => sum + sizeOf(arg), 1 + sizeOf(target)));
      const result = func.call(0, target, args);
      if (result === undefined || isCelError(result)) throw result ?? new Error('no such overload');
      return result;
    };
    const { name, target, arguments: types, result } = func;
    if (target === undefined) return celFunc(name, types, result, (...args: CelValue[]) => run(undefined, args));
    return celMethod(name, target, types, result, function (this: CelValue, ...args: CelValue[]) {
      return run(this, args);
    });
  };
  const { registry, types } = createOpaqueTypes();
  const LIST = listType(CelScalar.DYN);
  const standard = [...celEnv().funcs, ...strings];
  const operators = operatorsOf(standard);
  const own = [
    ...textFunctions(meter),
    ...quantityFunctions(types.Quantity),
    ...semverFunctions(types.Semver),
    ...addressFunctions(types.IP, types.CIDR),
    ...urlFunctions(types.URL),
    ...formatFunctions(types.NamedFormat, (text) => parseUrl(text) !== undefined),
    ...listFunctions(meter, operators),
    ...setFunctions(meter, operators),
    // The library gives the rest below a second.
    celMethod('getMilliseconds', objectType(DurationSchema), [], CelScalar.INT, function () {
      return this.message.seconds * 1000n + BigInt(Math.trunc(this.message.nanos / 1_000_000));
    }),
    // The library's own lists of lists take a stack frame for each addition.
    celFunc('_+_', [LIST, LIST], LIST, (left, right) => celList([...left, ...right])),
    ...internalFunctions(meter),
  ];
  const funcs = [...standard, ...own].map(charged);
  return {
    env: celEnv({ registry, funcs }) as CelEnv,
    functions: new Set(funcs.map(({ name }) => name)),
    weigh: (value, nodes) => {
      weights.set(value, nodes);
    },
    markIncomparable: (value) => {
      incomparable.add(value);
    },
  };
}

function operatorsOf(functions: readonly CelFunc[]): Operators {
  const operator =
    (name: string) =>
    (left: CelValue, right: CelValue): CelValue => {
      for (const func of functions) {
        const result = func.name === name ? func.call(0, undefined, [left, right]) : undefined;
        if (isCelError(result)) throw result;
        if (result !== undefined) return result;
      }
      throw new Error(`no such overload: ${name}`);
    };
  const [less, add, equals] = [operator('_<_'), operator('_+_'), operator('_==_')];
  return {
    compare: (left, right) => (less(left, right) === true ? -1 : less(right, left) === true ? 1 : 0),
    add,
    equals: (left, right) => equals(left, right) === true,
  };
}
