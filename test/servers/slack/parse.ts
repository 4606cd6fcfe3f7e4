/** What Slack makes of mrkdwn: who is pinged, and where links lead. */
export interface Meaning {
  /** `!channel`, `!here`, `@U0123`, `!subteam^S0123` */
  pings: string[]
  links: string[]
  /** `#C0123` */
  channels: string[]
}

export function meaningOf(texts: readonly string[]): Meaning {
  const meaning: Meaning = { pings: [], links: [], channels: [] }
  for (const text of texts) {
    for (const [, inside = ''] of text.matchAll(/<([^<>]+)>/g)) {
      const target = inside.split('|')[0] as string
      if (target.startsWith('!date^')) continue
      if (/^[!@]/.test(target)) meaning.pings.push(target)
      else if (target.startsWith('#')) meaning.channels.push(target)
      else if (/^(https?|mailto):/.test(target)) meaning.links.push(target)
    }
  }
  return meaning
}
