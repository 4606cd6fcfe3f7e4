import { channelOf } from './channel.ts'
import type { Noted } from './imported.ts'
import { environmentName, namer, secretOf } from './names.ts'
import { mapOf, type Raw, textOf, textsOf } from './read.ts'
import { notesOf, trackOptions } from './unread.ts'

export interface Channels {
  sinks: Record<string, Noted<Record<string, unknown>>>
  /** Source → sinks. */
  bound: Map<string, string[]>
}

const PLATFORMS = [
  'slack',
  'socketSlack',
  'cloudSlack',
  'webhook',
  'mattermost',
  'discord',
  'teams',
  'cloudTeams',
]

/** A sink for each channel of each communication group. */
export function communicationSinks(communications: Raw): Channels {
  const name = namer()
  const channels: Channels = { sinks: {}, bound: new Map() }
  for (const [group, value] of Object.entries(communications)) {
    for (const [platform, options] of Object.entries(mapOf(value))) {
      const { options: settings, unread } = trackOptions(mapOf(options))
      if (settings['enabled'] === false) continue
      const places = Object.entries(mapOf(settings['channels'] ?? settings['indices']))
      const all = places.length > 0 ? places : [[platform, settings] as const]
      const notes = all.map(([alias, channel]) =>
        add(
          channels,
          name(places.length > 0 && alias !== 'default' ? alias : platform),
          platform,
          settings,
          mapOf(channel),
          group,
        ),
      )
      // Executors are named at the head of the file.
      if (PLATFORMS.includes(platform))
        notes[0]?.push(...notesOf(unread().filter((it) => !it.endsWith('bindings.executors'))))
    }
  }
  if (Object.keys(channels.sinks).length === 0)
    channels.sinks['screen'] = {
      value: { type: 'stdout' },
      notes: ['the file has no channel that is enabled'],
    }
  return channels
}

/** Returns the comments of the sink, for more of them. */
function add(
  { sinks, bound }: Channels,
  name: string,
  platform: string,
  settings: Raw,
  channel: Raw,
  group: string,
): string[] {
  const notes: string[] = []
  sinks[name] = { value: sinkOf(platform, settings, channel, group, notes), notes }
  if (mapOf(channel['notification'])['disabled'] === true) {
    notes.push('its notifications were disabled, so no rule sends to it')
    return notes
  }
  for (const source of textsOf(mapOf(channel['bindings'])['sources']))
    bound.set(source, [...(bound.get(source) ?? []), name])
  return notes
}

function sinkOf(
  platform: string,
  settings: Raw,
  channel: Raw,
  group: string,
  notes: string[],
): Record<string, unknown> {
  switch (platform) {
    case 'slack':
    case 'socketSlack':
      return {
        type: 'slack',
        token: secretOf(settings['botToken'] ?? settings['token'], 'SLACK_TOKEN', notes),
        channel: channelOf(channel['name'], notes),
      }
    case 'cloudSlack':
      notes.push('cloudSlack needs an app of your own: sinks/slack/README.md')
      return { type: 'slack', token: `\${env:SLACK_TOKEN}`, channel: channelOf(channel['name'], notes) }
    case 'webhook':
      return { type: 'webhook', url: secretOf(settings['url'], environmentName(group, 'webhook_url'), notes) }
    case 'mattermost':
    case 'discord':
    case 'teams':
    case 'cloudTeams': {
      const preset = platform === 'cloudTeams' ? 'teams' : platform
      notes.push(`make an incoming webhook for ${textOf(channel['name']) || preset}: a bot is not needed`)
      return { type: 'webhook', preset, url: `\${env:${environmentName(group, preset, 'url')}}` }
    }
    default:
      notes.push(`${platform.replace(/[^\w-]/g, '')} has no counterpart here: this prints instead`)
      return { type: 'stdout' }
  }
}
