# The administrator, a project and the issues that are there before anybody enters one.
# Jobs in threads of their own would lock the database against what follows.
ActiveJob::Base.queue_adapter = :inline
admin = User.find_by(login: ENV['ADMIN'])
admin.password = ENV['PASSWORD']
admin.must_change_passwd = false
admin.mail = ENV['EMAIL']
admin.save!(validate: false)

project = Project.new(name: 'Ward IT', identifier: 'ward-it', is_public: true)
project.enabled_module_names = %w(issue_tracking time_tracking wiki)
project.trackers = Tracker.all
project.save!
%w(Hardware Software).each { |name| IssueCategory.create!(project: project, name: name) }
member = Member.new(project: project, user: admin)
member.roles << Role.givable.first
member.save!
# What an operator lets a workflow read, in the words of the form.
ActiveRecord::Base.connection.execute <<~SQL
  CREATE VIEW issues_as_entered AS
  SELECT i.id, t.name AS tracker, k.name AS category, i.subject, i.description, e.name AS priority, i.start_date,
         i.due_date, i.estimated_hours, i.done_ratio || ' %' AS done
  FROM issues AS i JOIN trackers AS t ON t.id = i.tracker_id JOIN enumerations AS e ON e.id = i.priority_id
  LEFT JOIN issue_categories AS k ON k.id = i.category_id
SQL
3.times do |place|
  Issue.create!(project: project, tracker: Tracker.first, author: admin, subject: "Old issue #{place}",
                priority: IssuePriority.first, status: IssueStatus.first)
end
