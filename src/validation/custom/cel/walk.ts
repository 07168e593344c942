import type { Expr } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';

/** The expressions directly inside of an expression, in the order of its source as far as the parser keeps it. */
export function childrenOf({ exprKind }: Expr): readonly Expr[] {
  const isThere = (expr: Expr | undefined): expr is Expr => expr !== undefined;
  switch (exprKind.case) {
    case 'selectExpr':
      return [exprKind.value.operand].filter(isThere);
    case 'callExpr':
      return [exprKind.value.target, ...exprKind.value.args].filter(isThere);
    case 'listExpr':
      return exprKind.value.elements;
    case 'structExpr':
      return exprKind.value.entries.flatMap(({ keyKind, value }) =>
        [keyKind.case === 'mapKey' ? keyKind.value : undefined, value].filter(isThere),
      );
    case 'comprehensionExpr': {
      const { iterRange, accuInit, loopCondition, loopStep, result } = exprKind.value;
      return [iterRange, accuInit, loopCondition, loopStep, result].filter(isThere);
    }
    default:
      return [];
  }
}
