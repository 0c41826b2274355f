#pragma once
// When SIGTERM, SIGINT and SIGHUP may reach us.

namespace hibernate::process {

/// Held back from its making on, but while they are let through. One that comes earlier must wait,
/// and one that comes when all is over must not change how we end. Threads that are started while
/// they are held back never get them.
class stop_signals {
public:
    stop_signals(); ///< holds them back
    void hold_back();
    void let_through();

private:
    static void change_mask(int how);
};

} // namespace hibernate::process
