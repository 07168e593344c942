import type { Expr, Expr_Call } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { didYouMean } from '../../../manifest/problem.ts';
import { mostInstructions, STEPS_OF_COMPILING } from '../../../model/text/pattern-size.ts';
import type { Meter } from '../../values/meter.ts';
import { compilePattern } from '../../values/patterns.ts';
import { OPTIONAL_INDEX, OPTIONAL_SELECT } from './optional-syntax.ts';
import { childrenOf } from './walk.ts';

/**
 * The names of the functions of API servers 1.33 to 1.36, without their types: all functions of the base environment
 * (k8s.io/apiserver/pkg/cel/environment), and `jsonpatch.escapeKey` of mutating policies.
 */
export const declaredFunctions: ReadonlySet<string> = new Set(
  `
  size type bool bytes double duration dyn int string timestamp uint contains endsWith startsWith matches
  getFullYear getMonth getDayOfYear getDate getDayOfMonth getDayOfWeek getHours getMinutes getSeconds getMilliseconds
  charAt indexOf lastIndexOf lowerAscii upperAscii replace split substring trim format join reverse strings.quote
  slice flatten sort distinct first last lists.range sets.contains sets.equivalent sets.intersects
  value hasValue or orValue unwrapOpt optional.of optional.none optional.ofNonZeroValue optional.unwrap
  isSorted sum min max find findAll
  url isURL getScheme getHost getHostname getPort getEscapedPath getQuery
  ip isIP ip.isCanonical family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast
  cidr isCIDR containsIP containsCIDR prefixLength masked
  quantity isQuantity sign isGreaterThan isLessThan compareTo asApproximateFloat asInteger isInteger add sub
  semver isSemver major minor patch
  format.named validate format.dns1123Label format.dns1123Subdomain format.dns1035Label format.qualifiedName
  format.dns1123LabelPrefix format.dns1123SubdomainPrefix format.dns1035LabelPrefix format.labelValue
  format.uri format.uuid format.byte format.date format.datetime
  path group serviceAccount resource subresource namespace name check errored error allowed reason
  fieldSelector labelSelector jsonpatch.escapeKey
  `
    .trim()
    .split(/\s+/),
);

/** Macros that the parser of the library leaves as calls, with the numbers of their arguments. */
const MACROS: Readonly<Record<string, readonly number[]>> = {
  all: [3],
  exists: [3],
  existsOne: [3],
  exists_one: [3],
  transformList: [3, 4],
  transformMap: [3, 4],
  transformMapEntry: [3, 4],
  sortBy: [2],
  optMap: [2],
  optFlatMap: [2],
};

/** The functions that only selectors of devices have. */
export const deviceFunctions: ReadonlySet<string> = new Set(['cel.bind', 'includes']);

/** What is wrong with a call, as the end of a sentence that begins with the place of the expression. */
export interface CallFault {
  readonly fault: string;
  readonly hint?: string | undefined;
}

/**
 * Returns the first call of a function that no API server has, or with a pattern that RE2 cannot read. Throws TooMuchWork if the meter
 * does not suffice for the patterns.
 */
export function faultOfCalls(expr: Expr, more: ReadonlySet<string>, meter: Meter): CallFault | undefined {
  const own = expr.exprKind.case === 'callExpr' ? faultOfCall(expr.exprKind.value, more, meter) : undefined;
  if (own !== undefined) return own;
  for (const child of childrenOf(expr)) {
    const found = faultOfCalls(child, more, meter);
    if (found !== undefined) return found;
  }
  return undefined;
}

function faultOfCall(
  { function: name, target, args }: Expr_Call,
  more: ReadonlySet<string>,
  meter: Meter,
): CallFault | undefined {
  // All others are operators.
  if (!/^[A-Za-z_]\w*$/.test(name) || name === '_' || name === OPTIONAL_SELECT || name === OPTIONAL_INDEX) {
    return undefined;
  }
  const qualified = target === undefined ? name : `${namespaceOf(target) ?? ''}.${name}`;
  if (target !== undefined && Object.hasOwn(MACROS, name) && MACROS[name]?.includes(args.length)) return undefined;
  const known = (each: string): boolean => declaredFunctions.has(each) || more.has(each);
  if (!known(qualified) && !known(name)) {
    const shown = target !== undefined && namespaceOf(target) !== undefined ? qualified : name;
    return { fault: `calls ${shown}, a function that API servers do not have here`, hint: hintOn(shown, name) };
  }
  const pattern = name === 'matches' ? textOf(args.at(-1)) : undefined;
  // This library refuses a name that two groups have, and API servers take it.
  const isSure = pattern !== undefined && !/\(\?P?</.test(pattern);
  if (!isSure) return undefined;
  meter.charge(mostInstructions(pattern) * STEPS_OF_COMPILING);
  if (compilePattern(pattern) !== undefined) return undefined;
  return { fault: `matches the pattern ${JSON.stringify(pattern)}, which is no regular expression of RE2` };
}

function hintOn(shown: string, name: string): string | undefined {
  if (name === 'has') return 'has() needs a field: has(object.spec)';
  if (shown === 'cel.bind') return 'only selectors of devices have it';
  return didYouMean(name, declaredFunctions);
}

function namespaceOf(target: Expr): string | undefined {
  return target.exprKind.case === 'identExpr' ? target.exprKind.value.name : undefined;
}

function textOf(expr: Expr | undefined): string | undefined {
  const constant = expr?.exprKind.case === 'constExpr' ? expr.exprKind.value.constantKind : undefined;
  return constant?.case === 'stringValue' ? constant.value : undefined;
}
