import { type AgentSettings, MOST_SETTINGS_BYTES, parseSettings, settingsText } from '../../model/agent-settings.ts';
import type { FrameInit } from './frame.ts';
import { ProtocolError } from './protocol-error.ts';
import { checked } from './scalars.ts';

/** The frame of settings; undefined if no agent takes them: they are too large, or say what has no place in them. */
export function settingsFrame(settings: AgentSettings): FrameInit | undefined {
  const content = settingsText(settings);
  return parseSettings(content).ok ? { case: 'settings', value: { content } } : undefined;
}

/** Reads settings. */
export function readSettings({ content }: { readonly content: string }): AgentSettings {
  const bytes = Buffer.byteLength(content);
  if (bytes > MOST_SETTINGS_BYTES) {
    throw new ProtocolError(
      'SettingsTooLarge',
      `settings of ${bytes} bytes, at most ${MOST_SETTINGS_BYTES} are allowed`,
    );
  }
  return checked(parseSettings(content), 'MalformedSettings');
}
