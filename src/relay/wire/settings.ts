import type { AgentSettings } from '../../model/agent-settings.ts';
import { MOST_SETTINGS_BYTES, parseSettings, settingsText } from '../../model/settings-text.ts';
import type { FrameInit } from './frame.ts';
import { ProtocolError } from './protocol-error.ts';
import { checked } from './scalars.ts';

/** The frame of settings; undefined if they are larger than any agent takes. */
export function settingsFrame(settings: AgentSettings): FrameInit | undefined {
  const content = settingsText(settings);
  return Buffer.byteLength(content) > MOST_SETTINGS_BYTES ? undefined : { case: 'settings', value: { content } };
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
