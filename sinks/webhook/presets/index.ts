import type { PresetName } from './names.ts'
import type { PresetOption } from './options.ts'
import type { Preset } from './preset.ts'

/** What the configuration needs to know of a preset; its code is loaded when it is configured. */
export interface PresetEntry {
  /** The name of the service. */
  title: string
  /** The options that it has besides those of every webhook; those in `needs` are required. */
  options?: readonly PresetOption[]
  needs?: readonly PresetOption[]
  /** It has an address of its own: `url` may be left out. */
  knowsUrl?: true
  /** It sends many events in one request, as a log store takes them. */
  batches?: true
  /** The section of a sink, in one line of YAML. */
  example: string
  /** As in `SinkType`. */
  placeholders?: Readonly<Record<string, string>>
  load(): Promise<Preset>
}

/** The services that the webhook sink knows: an entry for each. */
export const PRESETS: Readonly<Record<PresetName, PresetEntry>> = {
  teams: {
    title: 'Microsoft Teams',
    example: `{ type: teams, url: "\${env:TEAMS_URL}" }`,
    load: async () => (await import('./teams.ts')).teams,
  },
  discord: {
    title: 'Discord',
    options: ['username', 'iconUrl'],
    example: `{ type: discord, url: "\${env:DISCORD_URL}" }`,
    load: async () => (await import('./discord.ts')).discord,
  },
  mattermost: {
    title: 'Mattermost',
    options: ['username', 'iconUrl', 'channel'],
    example: `{ type: mattermost, url: "\${env:MATTERMOST_URL}" }`,
    load: async () => (await import('./mattermost.ts')).mattermost,
  },
  'rocket-chat': {
    title: 'Rocket.Chat',
    options: ['username', 'iconUrl', 'channel'],
    example: `{ type: rocket-chat, url: "\${env:ROCKET_CHAT_URL}" }`,
    load: async () => (await import('./rocket-chat.ts')).rocketChat,
  },
  'google-chat': {
    title: 'Google Chat',
    example: `{ type: google-chat, url: "\${env:GOOGLE_CHAT_URL}" }`,
    load: async () => (await import('./google-chat.ts')).googleChat,
  },
  telegram: {
    title: 'Telegram',
    options: ['token', 'chatId', 'topicId', 'ratePerMinute'],
    needs: ['token', 'chatId'],
    knowsUrl: true,
    example: `{ type: telegram, token: "\${env:TELEGRAM_TOKEN}", chatId: "-1001234567890" }`,
    placeholders: { chatId: '@kubeherald_placeholder' },
    load: async () => (await import('./telegram.ts')).telegram,
  },
  matrix: {
    title: 'Matrix',
    options: ['token', 'room'],
    needs: ['token', 'room'],
    example: `{ type: matrix, url: "https://matrix.example.com", token: "\${env:MATRIX_TOKEN}", room: "!ops:example.com" }`,
    placeholders: { room: '!kubeherald-placeholder:kubeherald-placeholder.invalid' },
    load: async () => (await import('./matrix.ts')).matrix,
  },
  ntfy: {
    title: 'ntfy',
    options: ['topic', 'token'],
    needs: ['topic'],
    knowsUrl: true,
    example: `{ type: ntfy, topic: "\${env:NTFY_TOPIC}" }`,
    load: async () => (await import('./ntfy.ts')).ntfy,
  },
  lark: {
    title: 'Lark and Feishu',
    options: ['signingSecret', 'ratePerMinute'],
    example: `{ type: lark, url: "\${env:LARK_URL}" }`,
    load: async () => (await import('./lark.ts')).lark,
  },
  dingtalk: {
    title: 'DingTalk',
    options: ['signingSecret', 'ratePerMinute'],
    example: `{ type: dingtalk, url: "\${env:DINGTALK_URL}", signingSecret: "\${env:DINGTALK_SECRET}" }`,
    load: async () => (await import('./dingtalk.ts')).dingtalk,
  },
  wecom: {
    title: 'WeCom',
    options: ['ratePerMinute'],
    example: `{ type: wecom, url: "\${env:WECOM_URL}" }`,
    load: async () => (await import('./wecom.ts')).wecom,
  },
  pagerduty: {
    title: 'PagerDuty',
    options: ['routingKey', 'action'],
    needs: ['routingKey'],
    knowsUrl: true,
    example: `{ type: pagerduty, routingKey: "\${env:PAGERDUTY_KEY}" }`,
    load: async () => (await import('./pagerduty.ts')).pagerduty,
  },
  opsgenie: {
    title: 'Opsgenie and Jira Service Management',
    options: ['apiKey', 'action'],
    needs: ['apiKey'],
    knowsUrl: true,
    example: `{ type: opsgenie, apiKey: "\${env:OPSGENIE_KEY}" }`,
    load: async () => (await import('./opsgenie.ts')).opsgenie,
  },
  'incident-io': {
    title: 'incident.io',
    options: ['token'],
    needs: ['token'],
    example: `{ type: incident-io, url: "\${env:INCIDENT_IO_URL}", token: "\${env:INCIDENT_IO_TOKEN}" }`,
    load: async () => (await import('./incident-io.ts')).incidentIo,
  },
  'grafana-oncall': {
    title: 'Grafana OnCall',
    example: `{ type: grafana-oncall, url: "\${env:ONCALL_URL}" }`,
    load: async () => (await import('./grafana-oncall.ts')).grafanaOncall,
  },
  alertmanager: {
    title: 'Alertmanager',
    options: ['resolveAfter', 'labels'],
    example: '{ type: alertmanager, url: "http://alertmanager:9093/api/v2/alerts" }',
    placeholders: { url: 'https://kubeherald-placeholder.invalid/api/v2/alerts' },
    load: async () => (await import('./alertmanager.ts')).alertmanager,
  },
  elasticsearch: {
    title: 'Elasticsearch and OpenSearch',
    options: ['index'],
    batches: true,
    example: '{ type: elasticsearch, url: "http://elasticsearch:9200" }',
    load: async () => (await import('./elasticsearch.ts')).elasticsearch,
  },
  loki: {
    title: 'Grafana Loki',
    options: ['labels'],
    batches: true,
    example: '{ type: loki, url: "http://loki:3100" }',
    load: async () => (await import('./loki.ts')).loki,
  },
  victorialogs: {
    title: 'VictoriaLogs',
    batches: true,
    example: '{ type: victorialogs, url: "http://victoria-logs:9428" }',
    load: async () => (await import('./victorialogs.ts')).victorialogs,
  },
  splunk: {
    title: 'Splunk',
    options: ['token', 'index'],
    needs: ['token'],
    batches: true,
    example: `{ type: splunk, url: "https://splunk.example.com:8088", token: "\${env:SPLUNK_TOKEN}" }`,
    load: async () => (await import('./splunk.ts')).splunk,
  },
  datadog: {
    title: 'Datadog',
    options: ['apiKey', 'site'],
    needs: ['apiKey'],
    knowsUrl: true,
    batches: true,
    example: `{ type: datadog, apiKey: "\${env:DATADOG_API_KEY}" }`,
    placeholders: { site: 'kubeherald-placeholder.invalid' },
    load: async () => (await import('./datadog.ts')).datadog,
  },
}
