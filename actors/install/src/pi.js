export default function (pi) {
  // How the session has begun. It is reported with its first prompt: before that Pi writes no file.
  let source = "startup"
  let isReported = false
  const tell = (event, { sessionManager, cwd }, more) => {
    const transcript_path = sessionManager.getSessionFile()
    return report(event, { session_id: sessionManager.getSessionId(), transcript_path, cwd, ...more })
  }
  pi.on("session_start", ({ reason }, { sessionManager }) => {
    const continues = sessionManager.getEntries().some(({ type }) => type === "message")
    source = reason === "new" ? "clear" : reason === "fork" ? "fork" : continues ? "resume" : "startup"
  })
  pi.on("before_agent_start", async (_, context) => {
    // A session that is not written is not read either.
    if (!context.sessionManager.getSessionFile()) return
    const said = []
    if (!isReported) said.push(await tell("SessionStart", context, { source }))
    isReported = true
    said.push(await tell("UserPromptSubmit", context))
    const content = said.filter(Boolean).join("\n\n")
    if (content) return { message: { customType: "baton", content, display: false } }
  })
  const forward = (from, to) =>
    pi.on(from, async (_, context) => {
      if (isReported) await tell(to, context)
    })
  forward("agent_end", "Stop")
  forward("session_before_compact", "PreCompact")
  forward("session_compact", "PostCompact")
  pi.on("session_shutdown", async ({ reason }, context) => {
    if (!isReported || reason === "reload") return
    await tell("SessionEnd", context, { reason: { new: "clear", resume: "resume" }[reason] ?? "other" })
  })
}
