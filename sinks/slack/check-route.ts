import type { SchemaIssue } from '../../src/sink/index.ts'
import type { SlackConfig, SlackRoute } from './config.ts'

/** What a rule may say only of some Slack sinks. */
export function checkRoute(
  { channel, mode }: SlackRoute,
  { url, allowChannels }: SlackConfig,
): SchemaIssue[] {
  const issues: SchemaIssue[] = []
  if (url && channel)
    issues.push({
      path: ['channel'],
      message: 'is not possible here: the sink is a webhook, which writes into its own channel only',
    })
  else if (channel && !channel.constant && allowChannels.length === 0)
    issues.push({
      path: ['channel'],
      message:
        'is a template, so the sink needs allowChannels: the channels (or globs, "#team-*") it may choose',
    })
  if (url && mode !== undefined && mode !== 'message')
    issues.push({ path: ['mode'], message: 'must be message: the sink is a webhook, which cannot thread' })
  return issues
}
