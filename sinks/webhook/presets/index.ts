import { alertmanager } from './alertmanager.ts'
import { discord } from './discord.ts'
import { googleChat } from './google-chat.ts'
import { mattermost } from './mattermost.ts'
import { pagerduty } from './pagerduty.ts'
import type { Preset } from './parts.ts'
import { teams } from './teams.ts'

export const PRESETS = {
  teams,
  discord,
  pagerduty,
  mattermost,
  'google-chat': googleChat,
  alertmanager,
} as const satisfies Readonly<Record<string, Preset>>

export type PresetName = keyof typeof PRESETS
export const PRESET_NAMES = Object.keys(PRESETS) as [PresetName, ...PresetName[]]
