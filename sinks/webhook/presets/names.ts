/**
 * The services that the webhook sink knows: `type: loki` means `type: webhook, preset: loki`. The names alone, so that a configuration
 * loads no more than it uses; `index.ts` has an entry for each.
 */
export const PRESET_NAMES = [
  'teams',
  'discord',
  'mattermost',
  'rocket-chat',
  'google-chat',
  'telegram',
  'matrix',
  'ntfy',
  'lark',
  'dingtalk',
  'wecom',
  'pagerduty',
  'opsgenie',
  'incident-io',
  'grafana-oncall',
  'alertmanager',
  'elasticsearch',
  'loki',
  'victorialogs',
  'splunk',
  'datadog',
] as const

export type PresetName = (typeof PRESET_NAMES)[number]
