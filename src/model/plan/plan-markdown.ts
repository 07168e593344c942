import { counted } from '../text/messages.ts';
import { printable } from '../text/printable.ts';
import type { PlannedChange, PlanView } from './plan.ts';
import {
  ACTIONS,
  groupsOf,
  namedClusters,
  type PlanGroup,
  shortRevision,
  shownChange,
  shownReasons,
  sumOf,
} from './plan-text.ts';

/**
 * A plan as Markdown for the comment of a pull request: one line of summary, and the clusters folded. Clusters for which there is no
 * room in `most` characters are counted.
 */
export function planMarkdown(plan: PlanView, most = Number.POSITIVE_INFINITY): string {
  const { source, revision, base, summary, warnings, findings, moved = [], notJudged } = plan;
  const lines = [
    `**fleetrelay plan of ${code(source)}**: ${sumOf(summary)}`,
    '',
    `${code(shortRevision(revision))} compared with ${code(shortRevision(base))} at ${plan.at}`,
  ];
  if (warnings.length > 0) lines.push('');
  for (const { reason, message, object, clusters } of warnings) {
    const where = [
      object === undefined ? '' : ` ${code(object)}`,
      clusters.length === 0 ? '' : ` in ${names(clusters)}`,
    ];
    lines.push(`- :warning: **${reason}**${where.join('')}: ${escaped(message)}`);
  }
  if (findings.length > 0) lines.push('');
  for (const finding of findings) lines.push(`- ${code(finding)}`);
  let [room, left] = [most, 0];
  for (const group of groupsOf(plan)) {
    const section = sectionOf(group);
    room -= section.reduce((sum, line) => sum + line.length + 1, 0);
    if (room < 0) left += group.clusters.length;
    else lines.push(...section);
  }
  if (left > 0) lines.push('', `And ${counted(left, 'cluster')} more: \`fleetrelay plan\` shows all.`);
  if (moved.length > 0)
    lines.push('', 'Moved since the earlier plan:', ...moved.map((sentence) => `- ${escaped(sentence)}`));
  if (notJudged.length > 0) lines.push('', 'Not judged:', ...notJudged.map((sentence) => `- ${escaped(sentence)}`));
  return `${lines.join('\n')}\n`;
}

/** Clusters with the same changes, folded. */
function sectionOf({ clusters, waits, changes }: PlanGroup): readonly string[] {
  const why = waits === undefined ? '' : ` (${html(waits)})`;
  const summary = `${html(namedClusters(clusters))}${why}: ${counted(changes.length, 'change')}`;
  return [
    '',
    '<details>',
    `<summary>${summary}</summary>`,
    '',
    '```diff',
    ...changes.flatMap(changeLines).map(fenced),
    '```',
    '',
    '</details>',
  ];
}

/** In the colours that the diff of a Markdown renderer gives to `+`, `-` and `!`. */
function changeLines(change: PlannedChange): readonly string[] {
  const { object, action, reason, message, fields = [], moreFields = 0 } = change;
  const { sign, word } = ACTIONS[action];
  const why = shownReasons(change);
  const first = { '~': '!', '>': ' ', '=': ' ', '.': ' ', x: ' ' }[sign] ?? sign;
  return [
    `${first} ${word} ${object}${why === '' ? '' : `   # ${why}`}`,
    ...(reason === undefined ? [] : [`      held: ${reason}: ${message ?? ''}`]),
    ...fields.map((field) => `      ${field.path}: ${shownChange(field)}`),
    ...(moreFields > 0 ? [`      and ${moreFields} more fields`] : []),
  ];
}

function names(clusters: readonly string[]): string {
  return code(namedClusters(clusters));
}

/** A line inside of a fence, which it cannot end. */
function fenced(line: string): string {
  return printable(line).replaceAll('```', "'''");
}

function code(text: string): string {
  return `\`${printable(text).replaceAll('`', "'")}\``;
}

/** Text of HTML that notifies no account. */
function html(text: string): string {
  const shown = printable(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return shown.replaceAll('@', '@\u200b');
}

/** Text that Markdown shows as it is, and that notifies no account. */
function escaped(text: string): string {
  return html(text).replaceAll(/([\\`*_{}[\]()#|~!])/g, '\\$1');
}
