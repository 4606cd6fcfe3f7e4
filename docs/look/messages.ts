// node docs/look/messages.ts: draws the pictures of messages from what the sinks send in the tests of messages.yaml.
import { writeFileSync } from 'node:fs'
import { teamsPicture } from './cards.ts'
import { type Payloads, payloads } from './payloads.ts'
import { slackPicture } from './slack.ts'

/** Returns the pictures of messages in this folder, by the names of their files. */
export async function pictures(): Promise<Record<string, string>> {
  const { 'crash-loop': crash, rollout, digest, node } = (await payloads()) as Record<string, Payloads>
  if (!crash || !rollout || !digest || !node) throw new Error('messages.yaml lacks a test')
  const [root, ...replies] = crash.slack
  if (!root || replies.some(({ threadTs }) => threadTs !== root.ts)) throw new Error('the thread is not one')
  return {
    'slack-crash-loop.svg': slackPicture('In Slack: a crash loop', crash.firstInSlack),
    'slack-thread.svg': slackPicture('In Slack: the thread of a crash loop that is over', [root], replies),
    'slack-rollout.svg': slackPicture('In Slack: a rollout with old and new values', rollout.slack),
    'slack-digest.svg': slackPicture('In Slack: a digest of three warnings', digest.slack),
    'teams-crash-loop.svg': teamsPicture('In Teams: a crash loop', crash.teams.at(0)),
    'teams-rollout.svg': teamsPicture('In Teams: a rollout with old and new values', rollout.teams.at(0)),
    'teams-resolved.svg': teamsPicture('In Teams: a Node that is ready again', node.teams.at(1)),
  }
}

if (import.meta.main)
  for (const [name, svg] of Object.entries(await pictures()))
    writeFileSync(new URL(name, import.meta.url), svg)
