import { unreachable } from '../../model/result.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import type { CommandOutline } from './outline.ts';
import { zshScript } from './zsh.ts';

/** The completion script of a shell. */
export function completionScript(shell: 'bash' | 'zsh' | 'fish', commands: readonly CommandOutline[]): string {
  switch (shell) {
    case 'bash':
      return bashScript(commands);
    case 'zsh':
      return zshScript(commands);
    case 'fish':
      return fishScript(commands);
    default:
      return unreachable(shell);
  }
}
