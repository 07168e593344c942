import { EXIT_CODE_MEANINGS } from '../../src/cli/exit-codes.ts';
import { block, code, generatedFrom, page, prose, section, table } from './markdown.ts';

const EXAMPLE = `fleetrelay status > /dev/null
case $? in
  0) echo "in sync" ;;
  1) echo "not in sync: fleetrelay status says why" ;;
  3) echo "no server answers" ;;
  *) echo "fleetrelay help exit-codes" ;;
esac`;

/** The page of exit codes: the same list that `fleetrelay help exit-codes` prints. */
export function exitCodesPage(): string {
  const rows = EXIT_CODE_MEANINGS.map(([exit, meaning]) => [code(String(exit)), prose(meaning)]);
  return page([
    generatedFrom('src/cli/exit-codes.ts'),
    '',
    '# Exit codes',
    '',
    'Write a script that acts on how a command ended. A code means the same for every command;',
    '`fleetrelay help exit-codes` prints this list.',
    '',
    ...table(['code', 'meaning'], rows),
    '',
    'Only commands that ask a server exit with 3, 4 or 5. [The page of a command](cli/README.md) has the codes that it can exit with.',
    '',
    ...section('In a script', block('sh', EXAMPLE)),
  ]);
}
