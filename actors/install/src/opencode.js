export const Baton = async ({ directory }) => {
  const of = (session_id, more) => ({ session_id, cwd: directory, ...more })
  // The sessions that have begun here, each with the text for its model, and those of subagents.
  const [sessions, subagents, created] = [new Map(), new Set(), new Set()]
  const ended = async (id) => {
    if (sessions.delete(id)) await report("SessionEnd", of(id, { reason: "other" }))
  }
  return {
    "chat.message": async ({ sessionID: id }) => {
      if (!id || subagents.has(id)) return
      if (!sessions.has(id)) {
        sessions.set(id, "")
        sessions.set(id, await report("SessionStart", of(id, { source: created.has(id) ? "startup" : "resume" })))
      }
      const more = await report("UserPromptSubmit", of(id))
      if (more) sessions.set(id, more)
    },
    "experimental.chat.system.transform": async ({ sessionID: id }, output) => {
      const text = sessions.get(id)
      // A title is asked for under the same id, and must not be about the last session.
      const isForTitle = /title generator/i.test(output.system.join("\n").slice(0, 500))
      if (text && !isForTitle) output.system.push(text)
    },
    event: async ({ event: { type, properties } }) => {
      const id = properties?.sessionID ?? properties?.info?.id
      if (type === "session.created") (properties.info?.parentID ? subagents : created).add(id)
      if (!sessions.has(id)) return
      if (type === "session.idle") await report("Stop", of(id))
      if (type === "session.compacted") await report("PostCompact", of(id))
      if (type === "session.deleted") await ended(id)
    },
    dispose: async () => {
      await Promise.all([...sessions.keys()].map(ended))
    },
  }
}
