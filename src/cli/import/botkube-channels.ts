import { entryOf, type ImportedSink } from './imported.ts'
import { basicOf, channelOf, namer, type SinkNotes, secretOf, urlOf } from './sink-options.ts'
import { isOn, mapOf, pathsOf, type Raw, skip, takeUnread, textOf, textsOf } from './tracked.ts'

export interface Channels {
  sinks: ImportedSink[]
  /** Source → names of sinks. */
  bound: ReadonlyMap<string, string[]>
  heading: string[]
}

/** Returns a sink for each channel of each communication group that is enabled. */
export function channelsOf(communications: Raw): Channels {
  const name = namer()
  const sinks: ImportedSink[] = []
  const bound = new Map<string, string[]>()
  const heading: string[] = []
  for (const [group, platforms] of Object.entries(communications)) {
    for (const [platform, value] of Object.entries(mapOf(platforms))) {
      const settings = mapOf(value)
      if (!isOn(settings['enabled'])) {
        heading.push(`${platform} of ${group} is not enabled: left out.`)
        skip(settings)
        continue
      }
      const places = placesOf(settings)
      const made = places.map(([alias, channel]) => {
        const isNamed = alias !== '' && alias !== 'default'
        const sink = channelSink(name(isNamed ? alias : platform), platform, settings, channel)
        if (isOn(mapOf(channel['notification'])['disabled'])) {
          heading.push(`Notifications of ${sink.name} were disabled: left out.`)
          skip(channel)
        } else {
          sinks.push(sink)
          for (const source of new Set(textsOf(mapOf(channel['bindings'])['sources'])))
            bound.set(source, [...(bound.get(source) ?? []), sink.name])
        }
        return sink
      })
      const [first] = made
      const executors = places.some(([, { bindings }]) => textsOf(mapOf(bindings)['executors']).length > 0)
      if (executors) first?.lost.push('bindings.executors: kubeherald runs no commands')
      first?.lost.push(...takeUnread(settings))
    }
  }
  return { sinks, bound, heading }
}

/** The channels of a platform by their aliases; without any the platform is one. */
function placesOf(settings: Raw): [alias: string, channel: Raw][] {
  const teams = Object.values(mapOf(settings['teams'])).flatMap((team) =>
    Object.entries(mapOf(mapOf(team)['channels'])),
  )
  const places = [...Object.entries(mapOf(settings['channels'] ?? settings['indices'])), ...teams]
  return places.length === 0 ? [['', settings]] : places.map(([alias, it]) => [alias, mapOf(it)])
}

function channelSink(name: string, platform: string, settings: Raw, channel: Raw): ImportedSink {
  const sink: ImportedSink = { name, ...entryOf<Record<string, unknown>>({ type: platform }) }
  const make = Object.hasOwn(PLATFORMS, platform) ? PLATFORMS[platform] : undefined
  if (make) sink.value = make(settings, channel, sink)
  else sink.off.push(`kubeherald has no sink for ${platform}, which had ${pathsOf(settings).join(', ')}`)
  return sink
}

type PlatformSink = (settings: Raw, channel: Raw, notes: SinkNotes) => Record<string, unknown>

const slack: PlatformSink = (settings, channel, notes) => ({
  type: 'slack',
  token: secretOf(settings['botToken'] ?? settings['token'], 'token', notes),
  channel: channelOf(channel['name'], notes),
})

/** A bot became an incoming webhook, which has to be made. */
const incomingWebhook =
  (preset: string, more: (channel: Raw) => Record<string, unknown> = () => ({})): PlatformSink =>
  (_, channel, notes) => {
    const place = textOf(channel['name']) || textOf(channel['id']) || textOf(channel['channelID'])
    notes.notes.push(`make an incoming webhook for ${place || preset}: a bot is not needed`)
    return { type: 'webhook', preset, url: secretOf('', 'url', notes), ...more(channel) }
  }

/** One entry for each platform. */
const PLATFORMS: Readonly<Record<string, PlatformSink>> = {
  socketSlack: slack,
  slack,
  cloudSlack(_, channel, notes) {
    notes.notes.push(
      'it was the Slack app of Botkube Cloud; an app of your own is needed: sinks/slack/README.md',
    )
    return slack({}, channel, notes)
  },
  mattermost: incomingWebhook('mattermost', (channel) => ({ channel: textOf(channel['name']) })),
  discord: incomingWebhook('discord'),
  teams: incomingWebhook('teams'),
  cloudTeams: incomingWebhook('teams'),
  webhook(settings, _, notes) {
    notes.notes.push("it gets CloudEvents instead of Botkube's own JSON")
    return { type: 'webhook', url: urlOf(settings['url'], notes) }
  },
  elasticsearch(settings, channel, notes) {
    const auth = basicOf(settings['username'], settings['password'], notes)
    const index = textOf(channel['name'])
    return {
      type: 'elasticsearch',
      url: urlOf(settings['server'], notes),
      ...(auth && { auth }),
      ...(index !== '' && { index: `${index}-{{ time | date: "%Y-%m-%d" }}` }),
    }
  },
  pagerDuty: (settings, _, notes) => ({
    type: 'webhook',
    preset: 'pagerduty',
    routingKey: secretOf(settings['integrationKey'], 'key', notes),
  }),
}
