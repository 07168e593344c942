import { type Expr, ExprSchema } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { create } from '@bufbuild/protobuf';

export function ident(name: string): Expr {
  return create(ExprSchema, { exprKind: { case: 'identExpr', value: { name } } });
}

export function text(value: string): Expr {
  return create(ExprSchema, {
    exprKind: { case: 'constExpr', value: { constantKind: { case: 'stringValue', value } } },
  });
}

export function int(value: number): Expr {
  return create(ExprSchema, {
    exprKind: { case: 'constExpr', value: { constantKind: { case: 'int64Value', value: BigInt(value) } } },
  });
}

export function bool(value: boolean): Expr {
  return create(ExprSchema, {
    exprKind: { case: 'constExpr', value: { constantKind: { case: 'boolValue', value } } },
  });
}

export function list(...elements: Expr[]): Expr {
  return create(ExprSchema, { exprKind: { case: 'listExpr', value: { elements } } });
}

export function call(name: string, ...args: Expr[]): Expr {
  return create(ExprSchema, { exprKind: { case: 'callExpr', value: { function: name, args } } });
}

/** A loop; `step` computes the next value of `accumulator`. */
export function fold(loop: {
  readonly variable: string;
  readonly range: Expr;
  readonly accumulator: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}): Expr {
  return create(ExprSchema, {
    exprKind: {
      case: 'comprehensionExpr',
      value: {
        iterVar: loop.variable,
        iterRange: loop.range,
        accuVar: loop.accumulator,
        accuInit: loop.init,
        loopCondition: loop.condition,
        loopStep: loop.step,
        result: loop.result,
      },
    },
  });
}

/** `cel.bind(name, value, body)`. */
export function bind(name: string, value: Expr, body: Expr): Expr {
  const step = ident(name);
  return fold({
    variable: '@unused',
    range: list(),
    accumulator: name,
    init: value,
    condition: bool(false),
    step,
    result: body,
  });
}
